"""Everything that talks to a driver, or stands in for one."""
