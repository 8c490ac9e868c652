import Foundation

/// What a demonstration says first.
struct DemoGreeting {
    /// As the person typed it.
    let program: String
    let directory: DemoDirectory
    let endpoints: OwnerEndpoints
    /// The address of the scale.
    let scale: String
    /// Seconds; `nil` until Ctrl-C.
    let ends: Int?
    let keeps: Bool

    /// README's five lines, to be pasted into any shell.
    static let subscriber = """
        import os, zmq
        feed = zmq.Context().socket(zmq.SUB)
        feed.connect(os.environ["HUB_FEED"])
        feed.subscribe("sample/weight/")
        while True: print(*(frame.decode() for frame in feed.recv_multipart()), flush=True)
        """

    var lines: [String] {
        // Absolute, so that it can be pasted in any folder; a bare name is found in PATH anywhere.
        let hub = OwnerEndpoints.quoted(program.contains("/") ? URL(filePath: program).path : program)
        let configuration = OwnerEndpoints.quoted(directory.configuration)
        let python = "HUB_FEED=\(OwnerEndpoints.quoted(endpoints.feed)) python3 -c '\(DemoGreeting.subscriber)'"
        return [
            "A simulated HS3 scale at \(scale), its plugin hub-ihealth-hs3, and a hub in",
            directory.path + (keeps ? " (kept)" : " (removed at the end)")
                + (ends.map { ", for \($0) seconds." } ?? ", until Ctrl-C."), "", "From another terminal:", "",
            "export HUB_CONF=\(configuration)", "\(hub) status", "\(hub) samples weight --last 5",
            "\(hub) tap sample/ --json",
            "", "Or in Python (pip install pyzmq):", "",
        ] + python.split(separator: "\n").map(String.init) + [""]
    }
}
