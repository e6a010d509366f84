#!/usr/bin/env python3
"""Shows an app's indicators on the session bus in the dock.

Usage: dock.py APP [DESKTOP-FILE], such as dock.py my-app org.example.my-app.desktop

It follows `indicator watch --json` and sends what docks such as Plank, Dash to Dock and Plasma's task manager read:
the signal Update of com.canonical.Unity.LauncherEntry. Needs python3-dbus.

Several instances of the app are shown as one: the mean of their progress, and the number of all their activities if
that is more than one. An app that waits for the user is marked as urgent. An app that has crashed is removed, because
its name has vanished from the bus. When this program ends, however it does, docks remove what it has sent.

The desktop file must be installed: docks have no item for an app without one. A dock shows one state for each desktop
file, so run this program once: of two for the same file, Plank and Plasma mix what they send, and Dash to Dock shows
the one that changed last.
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
indicators = {}  # of all instances, by bus name
sent = None
for line in watch.stdout:
    event = json.loads(line)
    if event.get("application") == app:
        indicators[event["name"]] = event
    elif event["event"] != "vanished" or not indicators.pop(event["name"], None):
        continue
    shown = [indicator for indicator in indicators.values() if indicator["visible"]]
    parts = [indicator["progress"] for indicator in shown if indicator["progress"] is not None]
    count = sum(indicator["activityCount"] for indicator in shown)
    values = {
        "progress": dbus.Double(sum(parts) / len(parts) if parts else 0),
        "progress-visible": dbus.Boolean(bool(parts)),
        "count": dbus.Int64(count),
        "count-visible": dbus.Boolean(count > 1),
        "urgent": dbus.Boolean(any(indicator.get("attention") for indicator in shown)),
    }
    if values != sent:
        sent = values
        update = dbus.lowlevel.SignalMessage("/", "com.canonical.Unity.LauncherEntry", "Update")
        update.append(entry, values, signature="sa{sv}")
        bus.send_message(update)
        bus.flush()
