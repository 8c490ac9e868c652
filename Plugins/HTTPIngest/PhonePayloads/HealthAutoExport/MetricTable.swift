import Samples

/// A metric of Health Auto Export: its type and the form of its points.
struct HealthAutoExportMetric: Sendable {
    /// The form of a metric's points.
    enum Shape: String, Sendable {
        /// `qty`, or `Min`, `Avg` and `Max`.
        case number
        /// Whether the person stood in an hour: 0 or 1.
        case standHour
        /// A length in minutes.
        case minutes
        case meal, insulin, hygiene, pressure, counters, sleep
    }

    let type: HealthType
    let shape: Shape

    /// Finds a metric by a name that the app prints, in any spelling.
    static func named(_ name: String) -> HealthAutoExportMetric? {
        let folded = PhoneKeys.folded(name)
        return metrics[folded]
    }

    private static let metrics: [String: HealthAutoExportMetric] = {
        var metrics: [String: HealthAutoExportMetric] = [:]
        for entry in table.split(whereSeparator: \.isWhitespace) {
            let sides = entry.split(separator: ">")
            let parts = (sides.last ?? "").split(separator: ":")
            guard sides.count == 2, let type = TypeRegistry.standard.resolve(String(parts[0])),
                let shape = parts.count > 1 ? Shape(rawValue: String(parts[1])) : .number
            else { preconditionFailure("the table of metrics is malformed: \(entry)") }
            for name in sides[0].split(separator: ",") {
                metrics[PhoneKeys.folded(String(name))] = HealthAutoExportMetric(type: type, shape: shape)
            }
        }
        return metrics
    }()

    /// One metric per line: its names, the current one first; the type; the form of its points if they are not numbers.
    ///
    /// Compiled from the maker's documents and receiver, and from payloads that users have published.
    private static let table = """
        active_energy,active_energy_burned>activeEnergyBurned
        basal_energy_burned,resting_energy,basal_energy>basalEnergyBurned
        apple_exercise_time,exercise_time>appleExerciseTime apple_move_time>appleMoveTime
        apple_stand_time,stand_time>appleStandTime
        apple_stand_hour,stand_hours,apple_stand_hours>appleStandHour:standHour step_count,steps>stepCount
        walking_running_distance>distanceWalkingRunning cycling_distance>distanceCycling
        swimming_distance>distanceSwimming wheelchair_distance>distanceWheelchair
        downhill_snow_sports,downhill_snow_sports_distance>distanceDownhillSnowSports flights_climbed>flightsClimbed
        wheelchair_push_count>pushCount swim_stroke_count,swimming_stroke_count>swimmingStrokeCount
        vo2_max,vo2max>vo2Max physical_effort>physicalEffort cycling_cadence>cyclingCadence
        cycling_functional_threshold_power>cyclingFunctionalThresholdPower cycling_power>cyclingPower
        cycling_speed>cyclingSpeed running_power>runningPower running_speed>runningSpeed
        running_ground_contact_time>runningGroundContactTime running_stride_length>runningStrideLength
        running_vertical_oscillation>runningVerticalOscillation height>height
        weight_body_mass,weight_&_body_mass,weight,body_mass>weight waist_circumference>waistCircumference
        body_fat_percentage>bodyFatPercentage body_mass_index>bodyMassIndex lean_body_mass>leanBodyMass
        heart_rate>heartRate resting_heart_rate>restingHeartRate
        heart_rate_variability,heart_rate_variability_sdnn>heartRateVariabilitySDNN
        cardio_recovery>heartRateRecoveryOneMinute
        walking_heart_rate_average,walking_heart_rate>walkingHeartRateAverage
        atrial_fibrillation_burden>atrialFibrillationBurden blood_pressure>bloodPressure:pressure
        walking_speed>walkingSpeed walking_step_length>walkingStepLength
        walking_asymmetry_percentage>walkingAsymmetryPercentage
        walking_double_support_percentage>walkingDoubleSupportPercentage
        six_minute_walking_test_distance>sixMinuteWalkTestDistance stair_speed_up>stairAscentSpeed
        stair_speed_down>stairDescentSpeed respiratory_rate>respiratoryRate
        forced_expiratory_volume>forcedExpiratoryVolume1 forced_vital_capacity>forcedVitalCapacity
        peak_expiratory_flow_rate>peakExpiratoryFlowRate blood_oxygen_saturation,oxygen_saturation>oxygenSaturation
        peripheral_perfusion_index>peripheralPerfusionIndex inhaler_usage>inhalerUsage
        body_temperature>bodyTemperature basal_body_temperature>basalBodyTemperature
        apple_sleeping_wrist_temperature,wrist_temperature>appleSleepingWristTemperature
        under_water_depth,underwater_depth>underwaterDepth
        under_water_temperature,underwater_temperature,water_temperature>waterTemperature uv_exposure>uvExposure
        time_in_daylight>timeInDaylight environmental_audio_exposure,environmental_audio>environmentalAudioExposure
        headphone_audio_exposure,headphone_audio>headphoneAudioExposure electrodermal_activity>electrodermalActivity
        mindful_minutes,mindful_session>mindfulSession:minutes sexual_activity>sexualActivity:counters
        sleep_analysis>sleepAnalysis:sleep breathing_disturbances>appleSleepingBreathingDisturbances
        insulin_delivery>insulinDelivery:insulin blood_glucose>bloodGlucose:meal
        dietary_energy,dietary_energy_consumed>dietaryEnergyConsumed dietary_water>dietaryWater
        dietary_sugar>dietarySugar cholesterol,dietary_cholesterol>dietaryCholesterol
        carbohydrates,dietary_carbohydrates>dietaryCarbohydrates biotin>dietaryBiotin caffeine>dietaryCaffeine
        calcium>dietaryCalcium chloride>dietaryChloride chromium>dietaryChromium copper>dietaryCopper
        fiber>dietaryFiber folate>dietaryFolate iodine>dietaryIodine iron>dietaryIron magnesium>dietaryMagnesium
        manganese>dietaryManganese molybdenum>dietaryMolybdenum
        monosaturated_fat,monounsaturated_fat>dietaryFatMonounsaturated niacin>dietaryNiacin
        pantothenic_acid>dietaryPantothenicAcid phosphorus>dietaryPhosphorus
        polyunsaturated_fat>dietaryFatPolyunsaturated potassium>dietaryPotassium
        protein,dietary_protein>dietaryProtein riboflavin>dietaryRiboflavin saturated_fat>dietaryFatSaturated
        selenium>dietarySelenium sodium>dietarySodium thiamin>dietaryThiamin total_fat>dietaryFatTotal
        vitamin_a>dietaryVitaminA vitamin_b6>dietaryVitaminB6 vitamin_b12>dietaryVitaminB12
        vitamin_c>dietaryVitaminC vitamin_d>dietaryVitaminD vitamin_e>dietaryVitaminE vitamin_k>dietaryVitaminK
        zinc>dietaryZinc blood_alcohol_content>bloodAlcoholContent
        number_of_alcoholic_beverages,alcohol_consumption>numberOfAlcoholicBeverages
        number_of_time_fallen,number_of_times_fallen>numberOfTimesFallen handwashing>handwashingEvent:hygiene
        toothbrushing>toothbrushingEvent:hygiene
        """
}
