"""Tests of `gpu_jobs.logs`."""
