import JSON

/// Reads the person that a plain record names.
enum PersonStatement {
    /// The members that name a person: `subject` in the form of the protocol, the others with a name.
    static let names = ["subject", "person", "account"]

    /// - Throws: ``PhoneError`` if a member names another person than the token's.
    static func check(
        _ members: [JSONTree.Member], _ at: String, _ person: String, _ context: PhoneContext
    ) throws(PhoneError) {
        for member in members where names.contains(member.name) && member.value != .null {
            let said: String? =
                switch member.value {
                case .text(let name) where member.name != "subject": name
                case .object(let inner) where inner.count == 1 && ["account", "name"].contains(inner[0].name):
                    inner[0].value.text
                default: nil
                }
            if let said, context.isPerson(said) { continue }
            throw otherPerson("\(at)/\(member.name)", person, context)
        }
    }

    /// The error for a post that names another person than the token's, with the remedy.
    static func otherPerson(_ at: String, _ person: String, _ context: PhoneContext) -> PhoneError {
        PhoneError(
            .person,
            "\(at): the token \(context.device) is of \(person), and the post names someone else: leave the member out, send it with "
                + "that person's token, or make a token of the household, without a person (hub ingest new --help)")
    }
}
