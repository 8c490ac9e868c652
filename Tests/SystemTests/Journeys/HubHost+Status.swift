import Foundation
import HubClient
import HubProcess
import HubWire

extension HubHost {
    /// The hub's status, asked without the program `hub`, which takes longer to start than the hub takes for hundreds of records.
    func status<Status: Decodable & Sendable>(as type: Status.Type = Status.self) async throws -> Status {
        let door = door
        return try await blocking {
            let status = try DoorClient(endpoint: door, command: "status").ask(.status)
            return try JSONDecoder().decode(Status.self, from: Data(status.text.utf8))
        }
    }
}
