"""The calls of workers, JSON over HTTP. `gpu_jobs.contract` has the messages.

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

Artefacts come first, then the results that name them, then `finish`. Every call may be sent again. A call of an attempt
that is not live gets 409 with `code` (`lost`, `cancelled`, ...) and changes nothing.

Three credentials, each for one thing, all kept as digests only. An *enrolment token* is long-lived and opens sessions.
A *session* lasts an hour and leases shards, of what the enrolment covers. The *attempt's credential*, which a lease
answers, is the only one that the attempt's own calls accept, and is worth nothing after the attempt. No lease holds a
secret: the seed of hidden data and a planner's secret header come by calls of a live attempt.

A heartbeat keeps the lease, and gives the worker no further time to make progress: an attempt without a new result is
over after a time that depends on the phase that its worker reports.

A 204 to a request that names an evaluation has the header `X-Work-Left`: `1` while shards of the evaluation are not
done, `0` if none is left. Then a worker that was started for this evaluation ends.

`finish` is the last results, the last lines of the log, the end of the attempt and the next lease in one call: all that
a short shard needs. What it says of its own attempt is one transaction; the next lease is another one, which comes
afterwards, for the session in the header `X-Worker-Token`. Sent again because its answer was lost, it finds the attempt
completed and goes on with the lease.

The credential of an attempt is the worker's own proposal. Asked again with the same token, the site answers with the
lease that it gave for it. So no lease is held by nobody because an answer was lost. One that is over is not given
again: then the answer has another token.

Of a bundle every artefact is checked by itself: the good ones are kept, and `refused` has a sentence for each of the
others by its digest. Objects are named by their bytes, so that keeping some of them can be no harm and the worker does
not send them again. A bundle that is malformed, cut or too large is 400 or 413, and nothing of it is kept.
"""
