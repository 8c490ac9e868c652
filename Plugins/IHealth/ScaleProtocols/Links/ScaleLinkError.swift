import Glibc

/// The reason why there is no link, or why it ended, in a sentence with the remedy.
public struct ScaleLinkError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of problem, and thus the kind of remedy.
    public enum Code: Sendable, Hashable {
        /// The text of the link is wrong.
        case address
        /// No answer: the usual state of a scale, because it sleeps between weighings.
        case asleep
        /// The other end refuses, or the device does not exist.
        case refused
        /// Pairing is missing or stale.
        case security
        /// This machine has no usable Bluetooth, or lacks a permission.
        case machine
        /// The link was open and was lost.
        case lost
    }

    /// The kind of problem.
    public let code: Code
    /// The sentence for people.
    public let description: String

    init(_ code: Code, _ description: String) { (self.code, self.description) = (code, description) }

    /// Describes the error number of a call that should have opened `link`.
    static func opening(_ link: ScaleLink, _ place: ScaleLink.Place, errno number: Int32) -> ScaleLinkError {
        let why = String(cString: strerror(number))
        switch place {
        case .rfcomm(let address, let channel, _):
            let (code, words) = bluetooth(address, channel, number, why)
            return ScaleLinkError(code, "\(link): \(words)")
        case .tcp, .unix:
            let isAbsent = [ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, EHOSTDOWN].contains(number)
            let isForbidden = number == EACCES || number == EPERM
            return ScaleLinkError(
                isForbidden ? .machine : isAbsent ? .asleep : .refused,
                "\(link): \(why); is the bridge or simulator running there?")
        case .udp(_, _, let port):
            return ScaleLinkError(.machine, "\(link): no datagrams from port \(port ?? DatagramPort.usual): \(why)")
        case .serial:
            switch number {
            case EACCES, EPERM:
                return ScaleLinkError(
                    .machine, "\(link): \(why); this user needs the right to open it, usually the group dialout")
            case EWOULDBLOCK:
                return ScaleLinkError(.refused, "\(link): another program has locked it")
            case ENOENT, ENXIO, ENODEV:
                return ScaleLinkError(.refused, "\(link): \(why); for Bluetooth make it with: rfcomm bind 0 ADDRESS 6")
            default: return ScaleLinkError(.refused, "\(link): \(why)")
            }
        }
    }

    private static func bluetooth(
        _ address: BluetoothAddress, _ channel: UInt8, _ number: Int32, _ why: String
    ) -> (Code, String) {
        switch number {
        case EHOSTDOWN, ETIMEDOUT:
            (.asleep, "the scale does not answer (\(why)); step on it to wake it, within about ten metres")
        case ECONNREFUSED:
            (
                .refused,
                "the scale refuses channel \(channel) (\(why)); HS3 scales use 6, see: sdptool browse \(address)"
            )
        case EACCES, EBADE, EKEYREJECTED, EPERM:
            (
                .security,
                "the scale refuses the connection (\(why)); pair it again: bluetoothctl remove \(address), then "
                    + "bluetoothctl pair \(address) while it is awake (PIN 0000), then bluetoothctl trust \(address)"
            )
        case EBUSY, EALREADY:
            (.asleep, "the Bluetooth adapter is busy (\(why)); it is tried again")
        case EHOSTUNREACH, ENODEV, ENETDOWN:
            (.machine, "no Bluetooth adapter is switched on (\(why)); see: bluetoothctl power on, rfkill list")
        case EAFNOSUPPORT, EPROTONOSUPPORT:
            (
                .machine,
                "this system has no Bluetooth sockets (\(why)); the kernel lacks them (modprobe rfcomm), or a container "
                    + "has its own network and needs that of the host"
            )
        case EADDRINUSE:
            (.machine, "channel \(channel) is taken by another program (\(why)); choose another one")
        default: (.refused, why)
        }
    }
}
