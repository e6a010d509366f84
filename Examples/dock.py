#!/usr/bin/env python3
"""Shows every indicator on the session bus in the dock.

Usage: dock.py APP [DESKTOP-FILE], such as dock.py my-app org.example.my-app.desktop

It follows `indicator watch --json` and sends what docks such as Plank, Dash to Dock and Plasma's task manager read:
the signal Update of com.canonical.Unity.LauncherEntry. Needs python3-dbus.
"""
import json
import subprocess
import sys

import dbus
import dbus.lowlevel

app = sys.argv[1]
entry = "application://" + (sys.argv[2] if len(sys.argv) > 2 else f"{app}.desktop")
bus = dbus.SessionBus()
watch = subprocess.Popen(["indicator", "watch", "--json"], stdout=subprocess.PIPE, text=True)
for line in watch.stdout:
    indicator = json.loads(line)
    if indicator.get("application") != app:
        continue
    progress = indicator.get("progress") if indicator["visible"] else None
    values = {
        "progress": dbus.Double(progress or 0),
        "progress-visible": dbus.Boolean(progress is not None),
        "count": dbus.Int64(indicator["activityCount"]),
        "count-visible": dbus.Boolean(indicator["visible"]),
    }
    update = dbus.lowlevel.SignalMessage("/", "com.canonical.Unity.LauncherEntry", "Update")
    update.append(entry, values, signature="sa{sv}")
    bus.send_message(update)
    bus.flush()
