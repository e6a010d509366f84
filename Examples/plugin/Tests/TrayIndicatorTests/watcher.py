"""A tray for tests: watcher.py ADDRESS. Its method Items returns what it shows, as one text."""

import ctypes
import sys

import dbus.bus
import dbus.service
from dbus.mainloop.glib import DBusGMainLoop

NAME = "org.kde.StatusNotifierWatcher"
bus = dbus.bus.BusConnection(sys.argv[1], mainloop=DBusGMainLoop())


class Watcher(dbus.service.Object):
    items = set()

    @dbus.service.method(NAME, in_signature="s")
    def RegisterStatusNotifierItem(self, name):
        self.items.add(name)
        bus.watch_name_owner(name, lambda owner: owner or self.items.discard(name))

    @dbus.service.method(NAME, out_signature="s")
    def Items(self):
        return "; ".join(map(self.item, sorted(self.items)))

    def item(self, name):
        try:
            item = bus.get_object(name, "/StatusNotifierItem", introspect=False)
            item = item.GetAll("org.kde.StatusNotifierItem", dbus_interface=dbus.PROPERTIES_IFACE)
        except dbus.DBusException:
            return ""  # It has just been removed.
        sizes = [f"{width}:{len(data)}" for width, _, data in item["IconPixmap"]]
        return f"{item['Status']} {' '.join(sizes)} {item['ToolTip'][2]}|{item['ToolTip'][3]}"


watcher = Watcher(bus, "/StatusNotifierWatcher")
bus.request_name(NAME)
print("ready", flush=True)
while True:  # Without python3-gi, which python3-dbus only recommends.
    ctypes.CDLL("libglib-2.0.so.0").g_main_context_iteration(None, True)
