"""The worker's protocol: the messages between a worker and the site, which both import from here.

The site validates requests and builds answers with these models, the worker builds requests and reads answers, and the
API's schema of these calls follows from them. `leaderboard.queue.web.worker_api` describes the calls themselves.
"""
