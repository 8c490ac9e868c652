import CloudClient
import Foundation
import HubClient
import HubWire
import Platform
import PluginKit

/// A folder of packs, on this machine or on a web server.
enum PackLocation {
    case folder(String)
    /// The address without a trailing slash.
    case web(String)

    /// - Parameter text: a folder or an address, or the path or address of its `catalogue.json`.
    init(catalogue text: String) {
        let place = text.hasSuffix("/\(Catalogue.file)") ? String(text.dropLast(Catalogue.file.count + 1)) : text
        self = place.contains("://") ? .web(place.hasSuffix("/") ? String(place.dropLast()) : place) : .folder(place)
    }

    /// The place of a file, and its name in it.
    static func of(_ file: String) -> (place: PackLocation, name: String) {
        let folder = Folder.parent(of: file)
        let name = String(file.split(separator: "/").last ?? "")
        return (file.contains("://") ? .web(folder) : .folder(folder), name)
    }

    func path(_ name: String) -> String {
        switch self {
        case .folder(let folder): "\(folder)/\(name)"
        case .web(let address): "\(address)/\(name)"
        }
    }

    /// Reads a whole file; `nil` if there is none.
    ///
    /// - Throws: an error if it is larger or cannot be read.
    func read(_ name: String, upTo most: Int) async throws -> [UInt8]? {
        switch self {
        case .folder(let folder):
            do throws(FileError) { return try PrivateFile.read("\(folder)/\(name)", upTo: most) } catch {
                guard error.code != EFBIG else {
                    throw PluginError("\(folder)/\(name) is larger than \(most >> 20) MiB, which is the most")
                }
                throw error
            }
        case .web(let address): return try await Self.fetch("\(address)/\(name)", upTo: most)
        }
    }

    private static func fetch(_ address: String, upTo most: Int) async throws -> [UInt8]? {
        var limits = CloudClient.Limits()
        (limits.answerBytes, limits.whole) = (most, .seconds(600))
        var next = address
        // Follow redirections: a web server may keep its files elsewhere.
        for _ in 0..<4 {
            guard var parts = URLComponents(string: next) else { throw PluginError("\(next) is not an address") }
            let (path, query) = (parts.percentEncodedPath, parts.queryItems ?? [])
            (parts.percentEncodedPath, parts.query, parts.fragment) = ("", nil, nil)
            let service: ServiceAddress
            do throws(PluginFailure) { service = try ServiceAddress(parts.string ?? "", setting: "address") } catch {
                throw PluginError(
                    "\(Terminal.cut(next)): expected https, or http to this machine, without user and password")
            }
            let client = CloudClient(service, pace: ClientClock { .system }, limits: limits)
            let request = CloudRequest(.get, path, query: query.map { ($0.name, $0.value ?? "") })
            let answer: CloudAnswer
            do { answer = try await client.send(request) } catch let error as CloudError {
                throw Failure(.system, error.message)
            }
            if answer.status == 404 || answer.status == 410 { return nil }
            guard (300..<400).contains(answer.status), let location = answer.header("Location"),
                let target = URL(string: location, relativeTo: URL(string: next))?.absoluteString
            else {
                do throws(CloudError) { return Array(try answer.successful().body) } catch {
                    throw Failure(.system, error.message)
                }
            }
            guard target.hasPrefix("https://") || !next.hasPrefix("https://") else {
                throw PluginError("\(Terminal.cut(next)) leads to an address without https, which is not followed")
            }
            next = target
        }
        throw PluginError("\(address) leads from one address to the next; name the last")
    }
}

/// The catalogue in which packs are looked up by name.
enum CatalogueChoice {
    static func place(_ given: String?) throws(Failure) -> PackLocation {
        let variable = ProcessInfo.processInfo.environment["HUB_CATALOGUE"].flatMap { $0.isEmpty ? nil : $0 }
        guard let text = given ?? variable else {
            throw Failure(.usage, "name a catalogue: --catalogue FOLDER|ADDRESS, or HUB_CATALOGUE")
        }
        return PackLocation(catalogue: text)
    }

    static func read(_ place: PackLocation) async throws -> Catalogue {
        let path = place.path(Catalogue.file)
        guard let bytes = try await place.read(Catalogue.file, upTo: Catalogue.maximumBytes) else {
            throw Failure(.noConfiguration, "\(path): there is no catalogue; hub plugin pack --index FOLDER makes one")
        }
        do throws(PluginError) { return try Catalogue(bytes) } catch { throw PluginError("\(path): \(error)") }
    }
}
