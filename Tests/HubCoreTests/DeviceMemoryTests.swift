import Foundation
import Logging
import Testing

@testable import HubCore

@Suite struct DeviceMemoryTests {
    private func board(_ battery: Int) -> DeviceTable {
        DeviceTable(remembered: ["scale": ["HS4": DeviceTable.Entry(battery: battery, heardAt: 1)]])
    }

    @Test(arguments: [nil, 70])
    func `what could not be written is written by the next try, unless something newer is known`(_ newer: Int?) throws {
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
}
