"""The workers' API: JSON over HTTP, with the messages of `gpu_jobs.contract`.

    POST worker/session/                             enrolment token   SessionRequest -> Session
    POST worker/lease/                               session           LeaseRequest -> Lease, or 204 (and X-Work-Left)
    POST worker/attempts/<id>/heartbeat/             Heartbeat -> 204; with the attempt's credential, as all that follow
    GET  worker/attempts/<id>/seed/                  -> Seed, of a hidden attempt of the operator's workers
    GET  worker/attempts/<id>/secret-header/         -> SecretHeader, of a planner that has one
    GET  worker/attempts/<id>/checkpoints/<digest>/?start=N     a piece of the planner's checkpoint, bytes from N on
    POST worker/attempts/<id>/agent-turn/            TurnRequest -> TurnAnswer, of an agent-driven evaluation
    POST worker/attempts/<id>/objects/missing/       DigestsRequest -> DigestsMissing
    POST worker/attempts/<id>/objects/uploads/       UploadsRequest -> UploadsOffered
    POST worker/attempts/<id>/objects/               a bundle (`gpu_jobs.bundles`) -> BundleTaken
    PUT  worker/attempts/<id>/objects/<digest>/      bytes -> 204; for what is too large for a bundle
    POST worker/attempts/<id>/results/               ResultsRequest -> ResultsTaken
    POST worker/attempts/<id>/log/                   LogLines -> LogTaken
    POST worker/attempts/<id>/finish/                FinishRequest -> FinishAnswer
    POST worker/attempts/<id>/fail/                  FailRequest -> 204

Artefacts are sent first, then the results that name them, then `finish`. Every call is idempotent. A call of an attempt
that is not live gets 409 with `code` (`lost`, `cancelled`, ...) and changes nothing.

There are three credentials, stored as digests only. An *enrolment token* is long-lived and opens sessions. A *session*
lasts an hour and leases shards that the enrolment covers. The *attempt's credential*, which is part of a lease, is the
only one that the attempt's calls accept, and expires with the attempt. Leases contain no secrets: the seed of hidden
data and a planner's secret header are separate calls of a live attempt.

A heartbeat renews the lease but does not extend the deadline for progress: an attempt without a new result ends after a
time that depends on the phase that its worker reports.

A 204 to a request that names an evaluation has the header `X-Work-Left`: `1` while the evaluation has unfinished
shards, else `0`. Then a worker that was started for this evaluation exits.

`finish` combines the last results, the last log lines, the end of the attempt and the next lease: all that a short
shard needs. Everything about the attempt is one transaction. The next lease follows in another one, for the session in
the header `X-Worker-Token`. A repeated call finds the attempt completed and continues with the lease.

The worker proposes the attempt's credential. A repeated request with the same token returns the same lease, so that a
lost response leaves no orphaned lease. After that lease has ended, the response has another token.

Every artefact of a bundle is checked separately: valid ones are stored, and `refused` explains the others by digest.
Objects are content-addressed, so that storing some of them does no harm and the worker does not send them again. A
malformed, truncated or too large bundle gets 400 or 413, and nothing of it is stored.
"""
