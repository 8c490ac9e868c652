import HubClient
import HubProcess
import Testing

@Suite struct ConfigurationFileTests {
    @Test func `a text is written only over the one that it was made from, and no other program writes under the lock`()
        throws
    {
        let folder = try TemporaryFolder()
        let file = try folder.write("old", to: "hub.conf")
        func changed(_ path: String) -> Failure { Failure(.tryAgain, "\(path) was changed meanwhile; try again") }
        try ConfigurationFile.replace("old", with: "new", in: file)
        #expect(throws: changed(file)) { try ConfigurationFile.replace("old", with: "other", in: file) }
        try ConfigurationFile.hold("new", in: file) {
            #expect(throws: changed(file)) { try ConfigurationFile.replace("new", with: "other", in: file) }
        }
        #expect(throws: changed(file)) { try ConfigurationFile.hold("old", in: file) {} }
        struct Stop: Error {}
        #expect(throws: Stop.self) { try ConfigurationFile.hold("new", in: file) { throw Stop() } }
        let none = folder.path + "/none"
        #expect(throws: changed(none)) { try ConfigurationFile.replace("old", with: "new", in: none) }
        let wrong = #expect(throws: Failure.self) {
            try ConfigurationFile.replace("new", with: "other", in: file + "/x")
        }
        #expect(wrong?.exit == .system)
    }
}
