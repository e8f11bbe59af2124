"""Readers of other systems' schedules: text in, schedule documents and reports out."""
