import Glibc
import ScaleProtocols

/// A serial line inside the kernel: the simulator holds one end, the program that opens `path` the other.
struct PseudoTerminal: Sendable {
    let master: LinkDescriptor
    let path: String

    init() throws(SimulatorError) {
        var (ours, theirs): (Int32, Int32) = (-1, -1)
        // Without raw mode the line discipline would echo, and change bytes that resemble control characters.
        var mode = termios()
        cfmakeraw(&mode)
        mode.c_cflag |= tcflag_t(CREAD)
        guard openpty(&ours, &theirs, nil, &mode, nil) == 0 else { throw LinkAddress.failure("open", "a pty") }
        master = LinkDescriptor(owning: ours)
        let other = LinkDescriptor(owning: theirs)
        var name = [CChar](repeating: 0, count: 128)
        guard ttyname_r(other.number, &name, name.count) == 0 else { throw LinkAddress.failure("name", "a pty") }
        path = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        master.setNonBlocking()
    }
}
