import Foundation
import HubProcess
import Testing

@testable import HubStore

@Suite struct SecretStoreTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path + "/secrets.db" }
    private let me = TokenAccount(instance: "exist", name: "me")

    init() throws { folder = try TemporaryFolder() }

    private func token(_ text: String, expires: Int64? = nil) -> NewToken {
        NewToken(json: Array(text.utf8), expires: expires, isRenewable: true)
    }

    @Test func `a token replaces only the expected version`() async throws {
        let store = try SecretStore(path: path)
        #expect(try await store.token(of: me).version == 0)
        #expect(try await store.put(token("{\"a\":1}"), for: me, expecting: 0, at: 5) == .stored(version: 1))
        #expect(try await store.put(token("{\"a\":2}"), for: me, expecting: 0, at: 6) == .conflict(version: 1))
        #expect(try await store.put(token("{\"a\":3}"), for: me, expecting: 1, at: 7) == .stored(version: 2))
        let stored = try await store.token(of: me)
        #expect(stored.version == 2 && stored.json == Array("{\"a\":3}".utf8))
        #expect(!"\(stored)".contains("a\":3"))
        let other = TokenAccount(instance: "sami", name: "me")
        #expect(try await store.token(of: other).json == nil, "an instance sees only its own accounts")
    }

    @Test func `a removed token is gone from the file, and its version is never used again`() async throws {
        var store = try SecretStore(path: path)
        _ = try await store.put(token(#"{"access_token":"very-secret-words"}"#), for: me, expecting: 0, at: 5)
        _ = try await store.put(token(#"{"access_token":"newer-secret-words"}"#), for: me, expecting: 1, at: 6)
        #expect(try await store.remove(instance: "exist") == ["me"])
        #expect(try await store.remove(instance: "exist") == [])
        try store.close()
        let bytes = try Data(contentsOf: URL(filePath: path))
        for words in ["very-secret-words", "newer-secret-words"] { #expect(bytes.range(of: Data(words.utf8)) == nil) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["secrets.db"])
        store = try SecretStore(path: path)
        let gone = try await store.token(of: me)
        #expect(gone.json == nil && gone.version > 2)
        #expect(try await store.put(token("{}"), for: me, expecting: 1, at: 7) == .conflict(version: gone.version))
    }

    @Test func `the token file is private to its owner, and another program's file is refused`() async throws {
        try SecretStore(path: path).close()
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let other = folder.path + "/other.db"
        try Data("no database at all, but longer than a header".utf8).write(to: URL(filePath: other))
        let error = #expect(throws: StoreError.self) { try SecretStore(path: other) }
        #expect(error?.code == .foreign)
    }

    @Test func `a failure is kept until a token is stored, also for an account without one`() async throws {
        let store = try SecretStore(path: path)
        try await store.note(TokenFailure(.auth, reason: "not logged in"), of: me, at: 5)
        var known = try #require(try await store.overview().first)
        #expect(known.failure == TokenFailure(.auth, reason: "not logged in") && !known.isThere && known.version == 0)
        _ = try await store.put(token("{}", expires: 99), for: me, expecting: 0, at: 6)
        known = try #require(try await store.overview().first)
        #expect(known.failure == nil && known.isThere && known.expires == 99 && known.put == 6)
    }

    @Test func `an instance can have a limited number of accounts`() async throws {
        let store = try SecretStore(path: path)
        for number in 0..<SecretStore.accountsOfInstance {
            let account = TokenAccount(instance: "exist", name: "a\(number)")
            #expect(try await store.put(token("{}"), for: account, expecting: 0, at: 5) == .stored(version: 1))
        }
        #expect(try await store.put(token("{}"), for: me, expecting: 0, at: 5) == .tooMany)
        try await store.note(TokenFailure(.network, reason: "x"), of: me, at: 5)
        #expect(try await store.overview().count == SecretStore.accountsOfInstance)
    }

    @Test func `an account that has only a failure counts towards the limit`() async throws {
        let store = try SecretStore(path: path)
        try await store.note(TokenFailure(.auth, reason: "not logged in"), of: me, at: 5)
        for number in 1..<SecretStore.accountsOfInstance {
            let account = TokenAccount(instance: me.instance, name: "a\(number)")
            #expect(try await store.put(token("{}"), for: account, expecting: 0, at: 5) == .stored(version: 1))
        }
        let other = TokenAccount(instance: me.instance, name: "one more")
        #expect(try await store.put(token("{}"), for: other, expecting: 0, at: 5) == .tooMany)
        #expect(try await store.put(token("{}"), for: me, expecting: 0, at: 5) == .stored(version: 1))
    }
}
