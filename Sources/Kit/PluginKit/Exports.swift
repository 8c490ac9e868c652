// An author imports PluginKit alone: these are the words a plugin speaks in.
@_exported public import HubWire
@_exported public import Logging
@_exported public import Samples
