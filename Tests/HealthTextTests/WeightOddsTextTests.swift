import HealthText
import Testing

@Suite struct WeightOddsTextTests {
    @Test func `the odds are read from the hub's reason, and other reasons have no odds`() {
        let odds = WeightOddsText("71.9 kg: anna 62 %, ben (whose weight is not known yet) 31 %, somebody else 7 %")
        #expect(odds.shares == ["anna": "62 %", "ben": "31 %", "somebody else": "7 %"])
        #expect(odds.rank(of: "anna") == 0 && odds.rank(of: "ben") == 1 && odds.rank(of: "zoe") == 3)
        #expect(WeightOddsText("80.0 kg: anna over 99 %").shares == ["anna": "over 99 %"])
        for text in ["", "a guest", "no rule: for it", "a: b c %", "a: 7 %"] {
            #expect(WeightOddsText(text).shares.isEmpty, "\(text)")
        }
    }

    @Test func `a person is doubted only if their own known weight makes them unlikely`() {
        let odds = WeightOddsText(
            "84.7 kg: ben 90 %, anna 3 %, zoe (whose weight is not known yet) 2 %, somebody else 5 %")
        #expect(odds.doubt(about: "anna") == "by its weight it is ben's (90 %), and hardly anna's (3 %)")
        #expect(odds.doubt(about: "carl") == "by its weight it is ben's (90 %), and hardly carl's (under 1 %)")
        #expect(odds.doubt(about: "ben") == nil && odds.doubt(about: "zoe") == nil)
        #expect(WeightOddsText("71.9 kg: anna 62 %, ben 31 %").doubt(about: "ben") == nil)
        #expect(WeightOddsText("put back into the inbox by hand").doubt(about: "anna") == nil)
    }

    @Test func `people see the odds with the names that they have chosen, without the weight`() {
        let names = ["juergen": "Jürgen"]
        let odds = WeightOddsText("71.9 kg: juergen 62 %, ben (whose weight is not known yet) 31 %, somebody else 7 %")
        #expect(
            odds.text { names[$0] ?? $0 }
                == "Jürgen 62 %, ben (whose weight is not known yet) 31 %, somebody else 7 %")
        #expect(WeightOddsText("ask juergen: he was there").text { names[$0] ?? $0 } == nil)
        let far = WeightOddsText("84.7 kg: juergen 90 %, anna 3 %, somebody else 7 %").doubt(about: "anna") {
            names[$0] ?? $0
        }
        #expect(far == "by its weight it is Jürgen's (90 %), and hardly anna's (3 %)")
    }
}
