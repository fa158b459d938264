"""The settings file with comments that `driftbandits init` writes."""

EXAMPLE = """\
# Settings of a decision service. `driftbandits check FILE` checks them, `driftbandits serve FILE`
# runs the service. Lines that are commented out show the default.

[server]
listen = "127.0.0.1:8080"       # addresses that other machines can reach need keys

[server.limits]
# body_bytes = 4194304          # length of a request's body
# head_bytes = 16384            # length of its first line and headers
# depth = 16                    # nesting of objects and lists
# actions = 1000                # actions of one decision
# batch = 1000                  # entries of one batch
# connections = 10000           # open connections
# requests = 1000               # requests in progress; beyond that: 503 and Retry-After
# arrival_seconds = 20.0        # time in which a request has to arrive completely
# idle_seconds = 75.0           # time after which a connection without a request is closed
# drain_seconds = 10.0          # longest time to wait for requests at shutdown

[storage]
folder = "driftbandits-data"    # relative to this file
# snapshot_every = 20000        # records after which a snapshot is written
# keep_days = 90                # age up to which records are kept; without it, all are kept

# Keys. `driftbandits key` makes a key and prints such a table; the key itself is not stored.
# Roles: reader (look), writer (also decide and reward), admin (also change policies).
# [[keys]]
# name = "website"
# role = "writer"
# hash = "sha256:…"
# policy = "news"               # policy for calls of the Personalizer API with this key

# One table per policy; its name is part of the paths.
[policies.news]
learner = "AdaptiveLinUCB"      # `driftbandits policies` lists them
wait = 1800.0                   # seconds after which a decision closes
default = 0.0                   # reward of a decision that closes without one; or "none"
floor = 0.05                    # probability of showing a random action instead of the best
mode = "live"                   # or "shadow": show the baseline, and learn from its rewards
# rule = "assume"               # before a reward is known: "assume" the default, "wait" or "hold"
# rewards = "first"             # several rewards of a decision: "first", "last" or "sum"
# round_length = 3600.0         # seconds per round, to forget by time and not by decisions
# most_open = 1000000           # decisions that may wait at the same time
# most_actions = 1000           # actions with their own coordinates
# remember = 100000             # closed decisions whose ids are still known
# seed = 0                      # seed of the random numbers
# features = "features.json"    # a declaration in a separate file; without one, all is hashed

# [policies.news.config]        # arguments of the learner
# gamma = 0.999

# What contexts and actions look like. Without a declaration everything is hashed.
[policies.news.features.context]
country = { kind = "one_hot", values = ["FR", "DE"] }

[policies.news.features.action]
category = { kind = "one_hot", values = ["sport", "politics"] }
"""
