import Testing
import ZeroMQ

@Suite struct CurveKeysTests {
    /// The key pair of the tests in ZeroMQ RFC 26's reference implementations (CurveZMQ, `test_security_curve`).
    @Test func `a known secret key gives its public key, and a key's text and bytes agree`() throws {
        let secret = try #require(CurveSecretKey(z85: "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"))
        #expect(try secret.publicKey().z85 == "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID")
        let key = try #require(CurveKey(z85: "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"))
        #expect(CurveKey(bytes: key.bytes) == key)
        #expect(key.bytes.count == 32)
    }

    @Test func `generated pairs belong together and differ`() throws {
        let (one, two) = (try CurveKeyPair.generate(), try CurveKeyPair.generate())
        #expect(try one.secretKey.publicKey() == one.publicKey)
        #expect(one != two)
        #expect(CurveSecretKey(z85: one.secretKey.z85) == one.secretKey)
    }

    @Test(arguments: [
        "", "short", String(repeating: "x", count: 39), String(repeating: "x", count: 41),
        String(repeating: "ü", count: 20),
    ])
    func `text that is not forty characters of Z85 is rejected`(text: String) {
        #expect(CurveKey(z85: text) == nil)
        #expect(CurveSecretKey(z85: text) == nil)
    }

    @Test func `a secret key is never printed`() throws {
        let pair = try CurveKeyPair.generate()
        var dumped = ""
        dump(pair, to: &dumped)
        for text in ["\(pair.secretKey)", String(reflecting: pair.secretKey), "\(pair)", dumped] {
            #expect(!text.contains(pair.secretKey.z85))
            #expect(text.contains("<secret>"))
        }
    }
}
