import HubClient

/// The failure for a hub that cannot store: an import ends with a message instead of waiting silently.
enum StoreFault {
    /// - Parameter reason: the hub's reason.
    static func failure(_ reason: String) -> Failure {
        let cause = isFullDisk(reason) ? "the disk of the hub is full" : "the hub cannot store now"
        return Failure(
            .tryAgain,
            "\(cause): \(reason). Everything before is stored. Then give the file again: it continues, and duplicates nothing"
        )
    }

    static func isFullDisk(_ reason: String) -> Bool { reason.contains("no space left") }
}
