import Glibc
import Testing

@testable import ScaleProtocols

struct AddressTests {
    @Test(arguments: [
        "rfcomm://00:4D:32:1A:2B:3C", "rfcomm://004d321a2b3c?channel=6&security=low&accept=3",
        "rfcomm-accept://00:4D:32:1A:2B:3C?channel=30", "tcp://127.0.0.1:4711", "tcp://[::1]:4711",
        "tcp-accept://[::]:0",
        "unix:///run/scale.sock", "unix-accept:///run/scale.sock", "serial:///dev/rfcomm0",
    ])
    func `every documented form is a link and prints as it was written`(text: String) throws {
        #expect(try ScaleLink(text).description == text)
    }

    @Test(arguments: [
        ("", "there is no ://"), ("scale", "there is no ://; expected"),
        ("localhost:4711", "did you mean tcp://localhost:4711?"),
        ("/dev/rfcomm0", "did you mean serial:///dev/rfcomm0?"),
        ("ble://x", "\"ble\" is not a kind of link"),
        ("rfcomm://00:4D:32", "is not a Bluetooth address"),
        ("rfcomm://00:4D:32:1A:2B:3G", "is not a Bluetooth address"),
        ("rfcomm://00:4D:32:1A:2B:+C", "is not a Bluetooth address"),
        ("rfcomm://", "is not a Bluetooth address"),
        ("rfcomm://00:4D:32:1A:2B:3C?channel=0", "is not an RFCOMM channel"),
        ("rfcomm://00:4D:32:1A:2B:3C?channel=31", "is not an RFCOMM channel"),
        ("rfcomm://00:4D:32:1A:2B:3C?chanel=6", "\"chanel=6\" is none of channel, security, accept"),
        ("rfcomm://00:4D:32:1A:2B:3C?channel=6&channel=7", "repeated"),
        ("rfcomm://00:4D:32:1A:2B:3C?security=none", "security \"none\" is none of low, medium, high"),
        ("rfcomm-accept://00:4D:32:1A:2B:3C?accept=1", "\"accept=1\" is none of channel, security"),
        ("tcp://127.0.0.1", "there is no port"), ("tcp://:1", "there is no host"), ("tcp://h:0", "there is no port"),
        ("tcp://h:65536", "there is no port"), ("tcp://h:1x", "there is no port"),
        ("tcp-accept://h:+1", "there is no port"),
        ("unix://run/x", "the path must be absolute"), ("serial://", "the path must be absolute"),
        ("unix:///" + String(repeating: "x", count: 107), "at most 107 bytes"),
    ])
    func `a wrong link is refused with the error and the allowed forms`(text: String, why: String) throws {
        let error = try #require(throws: ScaleLinkError.self) { _ = try ScaleLink(text) }
        #expect(error.code == .address)
        #expect(error.description.contains("link \"\(text)\""))
        #expect(error.description.contains(why), "\(error)")
        #expect(error.description.contains("expected rfcomm://00:4D:32:1A:2B:3C"))
    }

    /// Vector L1 of the reference: AA:BB:CC:DD:EE:FF, channel 6.
    @Test func `a Bluetooth socket address is ten bytes, with the address reversed`() throws {
        let address = try #require(BluetoothAddress("AA:BB:CC:DD:EE:FF"))
        let bytes = address.socketAddress(channel: 6)
        #expect(bytes == [0x1F, 0x00, 0xFF, 0xEE, 0xDD, 0xCC, 0xBB, 0xAA, 0x06, 0x00])
        #expect(BluetoothAddress(socketAddress: bytes) == address)
        #expect(BluetoothAddress(socketAddress: bytes.prefix(7)) == nil)
    }

    @Test func `an address is read with and without colons, in either case`() throws {
        let address = try #require(BluetoothAddress("004d321a2b3c"))
        #expect(address == BluetoothAddress("00:4D:32:1A:2B:3C"))
        #expect(address.digits == "004D321A2B3C")
        #expect("\(address)" == "00:4D:32:1A:2B:3C")
        #expect(BluetoothAddress("00:4D:321A:2B:3C") == nil)
        #expect(BluetoothAddress("00-4D-32-1A-2B-3C") == nil)
    }

    @Test(arguments: [
        (EHOSTDOWN, ScaleLinkError.Code.asleep, "step on it"), (ETIMEDOUT, .asleep, "step on it"),
        (ECONNREFUSED, .refused, "refuses channel 6"), (EACCES, .security, "bluetoothctl pair AA:BB:CC:DD:EE:FF"),
        (EBADE, .security, "PIN 0000"), (EBUSY, .asleep, "adapter is busy"), (EHOSTUNREACH, .machine, "power on"),
        (EAFNOSUPPORT, .machine, "no Bluetooth sockets"), (EADDRINUSE, .machine, "taken by another program"),
    ])
    func `a failed Bluetooth call says what a person can do`(
        number: Int32, code: ScaleLinkError.Code, words: String
    ) throws {
        let link = try ScaleLink("rfcomm://AA:BB:CC:DD:EE:FF")
        let error = ScaleLinkError.opening(link, try #require(link.dialled), errno: number)
        #expect(error.code == code)
        #expect(error.description.contains(words), "\(error)")
    }
}
