import Foundation
import Testing

/// What a program changes in hub.conf (`/api/v1/…/configure`), as the page Set up does.
@Suite(.timeLimit(.minutes(3)))
struct ConfigureTests {
    @Test func `hub conf that describes a person otherwise is followed, and the page and a program are told so`()
        async throws
    {
        let scene = try await Scene()
        let (manage, owner) = (try await scene.token("m", "manage"), try await Browser(scene))
        for zone in ["Asia/Tokyo", "Europe/Rome"] {
            try scene.edit { $0.replacing(#/Europe\/Berlin|Asia\/Tokyo/#, with: zone) }
            let answer = try await scene.send("/apply", "{}", manage)
            let told = try Told(answer.body)
            #expect(answer.status == 200 && told["applied"] as? Bool == true, "\(answer)")
            #expect(told["dryRun"] as? Bool == false && told["persons"] as? [String] == ["me"], "\(answer)")
        }
        try scene.edit { $0.replacing("Europe/Rome", with: "Asia/Tokyo") }
        let form = try #require(Browser.forms(try await owner.get("/apply").body, to: "/apply").first)
        let done = try await owner.press(form)
        #expect(done.body.contains("The hub follows hub.conf."), "\(Scene.words(done.body))")
    }
}
