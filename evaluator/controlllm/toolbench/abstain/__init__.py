"""Requests that no plan can meet, among others that plans can meet."""
