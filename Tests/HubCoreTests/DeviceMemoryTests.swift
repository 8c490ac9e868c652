import Foundation
import HubWire
import Logging
import Testing

@testable import HubCore

@Suite struct DeviceMemoryTests {
    private func board(_ battery: Int) -> DeviceTable {
        DeviceTable(remembered: ["scale": ["HS4": DeviceTable.Entry(battery: battery, heardAt: 1)]])
    }

    @Test(arguments: [nil, 70])
    func `a failed write is retried by the next one, unless newer data is known`(_ newer: Int?) throws {
        let folder = try Folder()
        let data = folder.path + "/data"
        let memory = DeviceMemory(data: data, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        memory.note(board(80), mayWait: false)
        memory.write()
        #expect(memory.read().isEmpty)
        if let newer { memory.note(board(newer), mayWait: true) }
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        memory.write()
        #expect(memory.read() == board(newer ?? 80).memory)
    }

    @Test func `a restart of an instance clears its connection errors and keeps errors of the device itself`() throws {
        var table = DeviceTable()
        let refused = "tcp://127.0.0.1:4799: Connection refused"
        table.note(try DeviceEvent("error", device: "HS3", severity: .error, text: refused), of: "a", at: 1)
        table.note(try DeviceEvent("error", device: "HS4", severity: .error, code: 111, text: "no"), of: "a", at: 1)
        table.note(try DeviceEvent("error", device: "HS3", severity: .error, text: refused), of: "b", at: 1)
        table.adopt(instances: ["a", "b"], restarting: ["a"])
        let errors = table.all.map { "\($0.instance) \($0.device) \($0.entry.lastError?.text ?? "-")" }
        #expect(errors == ["a HS3 -", "a HS4 no", "b HS3 \(refused)"])
    }
}
