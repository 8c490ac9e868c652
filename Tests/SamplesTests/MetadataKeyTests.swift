import Testing

@testable import Samples

/// HealthKit's metadata keys: one name for all spellings of a key, and the values that each key accepts.
@Suite struct MetadataKeyTests {
    private func fault(_ metadata: String?, _ type: TypeID = .weight) -> String? {
        do throws(KnownMetadata.InvalidMetadata) {
            _ = try KnownMetadata(metadata.flatMap { JSONObject($0) }, of: type)
            return nil
        } catch { return error.description }
    }

    @Test func `all spellings of a HealthKit key map to one name`() {
        #expect(MetadataKey.all.count == 71)
        for spelling in ["foodType", "HKFoodType", "HKMetadataKeyFoodType"] {
            #expect(MetadataKey.named(spelling)?.name == "foodType")
            #expect(MetadataKey.name(of: spelling) == "foodType")
        }
        #expect(MetadataKey.named("HKMetadataKeySWOLFScore")?.name == "swolfScore")
        #expect(MetadataKey.named("HKUDIDeviceIdentifier")?.name == "udiDeviceIdentifier")
        #expect(MetadataKey.name(of: "WOIntervalStepKeyPath") == "WOIntervalStepKeyPath")
    }

    @Test(arguments: [
        (#"{"foodType":"Ham Sandwich"}"#, #"{"foodType":300}"#),
        (#"{"HKMetadataKeyReferenceRangeUpperLimit":5.9}"#, #"{"HKMetadataKeyReferenceRangeUpperLimit":"5.9"}"#),
        (#"{"wasUserEntered":true}"#, #"{"wasUserEntered":1}"#),
        (
            #"{"dateOfEarliestDataUsedForEstimate":"2024-03-01T00:00:00Z"}"#,
            #"{"dateOfEarliestDataUsedForEstimate":"2024-03-01"}"#
        ),
        (#"{"averageMETs":{"value":9.7,"unit":"kcal/hr·kg"}}"#, #"{"averageMETs":"9.7 kcal/hr·kg"}"#),
        (#"{"elevationAscended":{"value":1036,"unit":"cm"}}"#, #"{"elevationAscended":{"value":1036,"unit":"kg"}}"#),
        (#"{"weatherHumidity":{"unit":"%","value":0.94}}"#, #"{"weatherHumidity":{"unit":"%","value":0.94,"x":1}}"#),
        (#"{"sessionEstimate":{"value":1,"unit":"count"}}"#, #"{"sessionEstimate":{"value":1,"unit":"foo"}}"#),
        (#"{"heartRateMotionContext":2}"#, #"{"heartRateMotionContext":3}"#),
        (#"{"heartRateMotionContext":"active"}"#, #"{"heartRateMotionContext":"lively"}"#),
        (#"{"activityType":"running"}"#, #"{"activityType":null}"#),
    ])
    func `a value of the wrong kind is rejected with the name of its member`(_ right: String, _ wrong: String) throws {
        #expect(fault(right) == nil)
        let key = try #require(wrong.split(separator: "\"").dropFirst().first)
        let reason = try #require(fault(wrong))
        #expect(reason.hasPrefix("metadata.\(key): expected "), "\(reason)")
        #expect(!reason.contains("lively"), "a reason must not contain the value")
    }

    @Test func `keys of apps accept any value`() {
        #expect(fault(#"{"fields":{"a":[1]},"unit":"lx","HKCustom":null,"note":"with shoes"}"#) == nil)
    }

    @Test func `menstrual flow requires its cycle start, insulin its reason and food its type`() {
        #expect(
            fault(nil, .menstrualFlow)
                == "metadata.menstrualCycleStart: missing; a menstrualFlow must say it: true or false")
        #expect(fault(#"{"HKMenstrualCycleStart":false}"#, .menstrualFlow) == nil)
        #expect(fault("{}", .insulinDelivery)?.contains("insulinDeliveryReason: missing") == true)
        #expect(fault(#"{"insulinDeliveryReason":"bolus"}"#, .insulinDelivery) == nil)
        #expect(fault(#"{"foodType":"Ham Sandwich"}"#, .food) == nil && fault(nil, .food) != nil)
        #expect(fault(nil) == nil)
    }

    @Test func `a sync identifier requires a version, and each may occur only once`() throws {
        let both = try KnownMetadata(JSONObject(#"{"HKSyncIdentifier":"a1","syncVersion":3}"#), of: .weight)
        #expect(both.sync?.identifier == "a1" && both.sync?.version == 3)
        #expect(both.text("HKMetadataKeySyncIdentifier") == "a1")
        #expect(fault(#"{"syncIdentifier":"a1"}"#)?.contains("come together") == true)
        #expect(fault(#"{"syncVersion":1}"#)?.contains("come together") == true)
        #expect(
            fault(#"{"syncIdentifier":"a1","syncVersion":1.5}"#)?.contains("syncVersion: expected an integer") == true)
        #expect(
            fault(#"{"syncIdentifier":"a1","HKSyncIdentifier":"a2","syncVersion":1}"#)?.contains("contradicts metadata")
                == true)
    }
}
