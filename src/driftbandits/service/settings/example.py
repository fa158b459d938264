"""A commented file of settings to begin with: what `driftbandits init` writes."""

EXAMPLE = """\
# Settings of a decision service. `driftbandits check FILE` checks them, `driftbandits serve FILE`
# runs it. What is commented out shows the default.

[server]
listen = "127.0.0.1:8080"       # any other machine can only be served once there are keys

[server.limits]
# body_bytes = 4194304          # length of a request's body
# head_bytes = 16384            # length of its first line and headers
# depth = 16                    # nesting of objects and lists
# actions = 1000                # actions of one decision
# batch = 1000                  # entries of one batch
# connections = 10000           # open connections
# requests = 1000               # requests under way; beyond that: 503 and Retry-After
# arrival_seconds = 20.0        # time in which a request has to arrive whole
# idle_seconds = 75.0           # time for which a connection without a request is kept
# drain_seconds = 10.0          # time for which requests are waited for at the end

[storage]
folder = "driftbandits-data"    # relative to this file
# snapshot_every = 20000        # records after which a snapshot is written
# keep_days = 90                # age up to which records are kept; without it, all of them are

# Keys. `driftbandits key` makes one and prints such a table; the key itself is stored nowhere.
# Roles: reader (look), writer (also decide and reward), admin (also change policies).
# [[keys]]
# name = "website"
# role = "writer"
# hash = "sha256:…"
# policy = "news"               # where calls of the Personalizer API with this key go

# One table per policy; its name is part of the paths.
[policies.news]
learner = "AdaptiveLinUCB"      # `driftbandits policies` lists them
wait = 1800.0                   # seconds after which a decision closes
default = 0.0                   # reward of a decision that gets none until then; or "none"
floor = 0.05                    # probability of showing any action instead of the best
mode = "live"                   # or "shadow": show the baseline, and learn beside it
# rule = "assume"               # before a reward is known: "assume" the default, "wait" or "hold"
# rewards = "first"             # several rewards of a decision: "first", "last" or "sum"
# round_length = 3600.0         # seconds per round, to forget by the hour and not by decisions
# most_open = 1000000           # decisions that may wait at the same time
# most_actions = 1000           # actions with coordinates of their own
# remember = 100000             # closed decisions whose ids are still known
# seed = 0                      # names what is drawn at random
# features = "features.json"    # a declaration in a file of its own; without one, all is hashed

# [policies.news.config]        # arguments of the learner
# gamma = 0.999

# What contexts and actions look like. Without a declaration everything is hashed.
[policies.news.features.context]
country = { kind = "one_hot", values = ["FR", "DE"] }

[policies.news.features.action]
category = { kind = "one_hot", values = ["sport", "politics"] }
"""
