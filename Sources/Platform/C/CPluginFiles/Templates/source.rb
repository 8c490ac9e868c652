#!/usr/bin/env ruby
# The plugin @NAME@ of a health hub: gives @TYPE@ from a text file. README.md says what the file looks like.
#
# Nothing is remembered from one start to the next: what the hub has already it calls a duplicate.
require_relative "health_hub"

MANIFEST = {
  "name" => "@NAME@", "summary" => "Gives @TYPE@ from a text file.", "version" => "1.0", "writes" => ["@TYPE@"],
  "checksSettings" => true,
  "settings" => [
    { "name" => "file", "type" => "path", "required" => true, "help" => "The readings, a line for each: @LINE@." },
    { "name" => "every", "type" => "integer", "minimum" => 1, "maximum" => 3600, "default" => 5,
      "help" => "Seconds from one look at the file to the next." }
  ]
}.freeze

OBJECTIONS = lambda do |settings|
  next [] unless File.directory?(settings["file"])
  [{ "setting" => "file", "reason" => "this is a folder; name the file with the readings" }]
end

# What a line says, or nil. Its key is its time: the same line is the same record whenever it is read.
def record(line)
  start, *last, value = line.split
  return nil if value.nil? || last.size > 1
@quantity|  return nil unless value.match?(/\A-?[0-9]{1,15}([.][0-9]{1,15})?\z/)
@quantity|  made = { "type" => "@TYPE@", "value" => value.to_f, "unit" => "@UNIT@", "start" => start, "key" => start }
@category|  made = { "type" => "@TYPE@", "value" => value, "start" => start, "key" => start }
  made["end"] = last[0] unless last.empty?
  made
end

# Records of the file behind byte `place`, and the place to go on from: as much as 64 KiB has of whole lines.
def look(path, place)
  data = ""
  File.open(path, "rb") do |file|
    place = 0 if file.size < place # the file has been written once more, from its beginning
    file.seek(place)
    data = file.read(65_536) || ""
  end
  size = (data.rindex("\n") || -1) + 1 # the line that is being written waits
  size = data.bytesize if size.zero? && data.bytesize == 65_536 # never a reading
  start = place
  records = data.byteslice(0, size).b.lines.map do |bytes|
    (at, start) = start, start + bytes.bytesize
    line = bytes.force_encoding("UTF-8").scrub
    next if line.strip.empty?
    record(line) || warn("the line at byte #{at} is left out: it is not a reading")
  end
  [records.compact, place + size]
rescue Errno::ENOENT
  [[], 0]
end

code = HealthHub.plugin(MANIFEST, OBJECTIONS) do |hub|
  settings, place, pause = hub.welcome["settings"], 0, 0
  while hub.serve(pause)
    records, following = look(settings["file"], place)
    records.zip(hub.give(records)) do |given, result| # give returns when the hub has them on its disk
      # Of a person's values nothing belongs into the log.
      warn "#{given["key"]}: #{result["reason"]}" if result["result"] == "rejected"
    end
    pause = following == place ? settings["every"] : 0
    place = following
  end
end
exit code
