import Testing

@testable import ScaleProtocols

/// The vendor's verification results 1–8, and their consequences.
struct VerificationTests {
    typealias User = Verification.User
    static let anna = User(name: "anna@example.org", isAccount: true)

    @Test func `every result has the vendor's number; 1-4 allow measuring, on a HS5 1-3`() {
        #expect(UserAuthentication.allCases.map(\.rawValue) == Array(1...8))
        for model in ScaleModel.allCases {
            let allowed = UserAuthentication.allCases.filter { $0.allowsMeasuring(on: model) }.map(\.rawValue)
            #expect(allowed == (model == .hs5 ? [1, 2, 3] : [1, 2, 3, 4]))
        }
        #expect((9...13).map { UserAuthentication(code: $0)?.rawValue } == [2, 5, 5, 6, 6])
        #expect(UserAuthentication(code: 14) == nil)
    }

    @Test func `a new person gets 1 after the disclaimer is accepted, and 2 from then on`() {
        var verification = Verification(.hs4)
        let first = verification.local(Self.anna)
        #expect(first.result == nil && !first.mayMeasure)
        #expect(first.help?.contains("disclaimer accept=true") == true)
        verification.memory.accepted.insert("anna@example.org")
        #expect(verification.local(Self.anna).result == .registered)
        var later = Verification(.hs4, memory: verification.memory)
        #expect(later.local(Self.anna) == .init(result: .loggedIn, mayMeasure: true))
    }

    @Test func `a household without a name is logged in`() {
        var verification = Verification(.hs3)
        #expect(verification.local(User()) == .init(result: .loggedIn, mayMeasure: true))
    }

    @Test(arguments: ["anna", "anna@", "@example.org", "anna@example", "a b@example.org", "a@b@example.org", "a@.org"])
    func `a name that is no e-mail address gets 5`(name: String) {
        var verification = Verification(.hs4)
        let verdict = verification.local(User(name: name, isAccount: true))
        #expect(verdict.result == .wrongUser && !verdict.mayMeasure && verdict.help != nil)
    }

    @Test func `an incomplete secret gets 5, and another person's scale 7`() {
        var verification = Verification(.hs4)
        #expect(verification.local(User(isIncomplete: true)).result == .wrongUser)
        #expect(verification.local(User(name: "bob", isAllowed: false)).result == .userNotAllowed)
    }

    @Test func `the cloud's answers give 3, 5 and 6`() {
        var verification = Verification(.hs5)
        #expect(verification.online(Self.anna, .linked, at: 0) == .init(result: .combined, mayMeasure: true))
        #expect(verification.online(Self.anna, .userRefused, at: 0).result == .wrongUser)
        #expect(verification.online(Self.anna, .softwareRefused, at: 0).result == .programNotAllowed)
    }

    static let day: Int64 = 24 * 3600 * 1_000_000

    @Test(arguments: [ScaleModel.hs3, .hs4]) func `without the cloud a trial lasts ten days, to the microsecond`(
        model: ScaleModel
    ) {
        let first: Int64 = 1_800_000_000_000_000
        var verification = Verification(model)
        for (after, result): (Int64, UserAuthentication) in [
            (0, .trial), (9 * Self.day, .trial), (10 * Self.day - 1, .trial), (10 * Self.day, .networkFailed),
            (11 * Self.day, .networkFailed),
        ] {
            let verdict = verification.online(Self.anna, .unreachable, at: first + after)
            #expect(verdict.result == result, "after \(after) µs")
            #expect(verdict.until == (result == .trial ? first + 10 * Self.day : nil))
            verification = Verification(model, memory: verification.memory)
        }
        // A success ends it, and ten new days begin when the cloud is absent again.
        #expect(verification.online(Self.anna, .linked, at: first + 11 * Self.day).mayMeasure)
        #expect(verification.memory.firstOffline == nil)
        #expect(verification.online(Self.anna, .unreachable, at: first + 12 * Self.day).result == .trial)
    }

    @Test func `a HS5 has no trial`() {
        var verification = Verification(.hs5)
        let verdict = verification.online(Self.anna, .unreachable, at: 5)
        #expect(verdict.result == .networkFailed && !verdict.mayMeasure)
        #expect(verification.memory.firstOffline == 5)
    }
}
