# A client of the health hub in one file: give records, follow, take deliveries, ask, answer commands, be a plugin.
#
# Needs libzmq 4.3 and the gem ffi (Debian: ruby-ffi, libzmq5). Records are hashes with the members of Docs/Samples.md, as
# strings. Calls wait until the hub has answered, however long it is away; a refusal of the hub is a HealthHub::Error.
# Nothing is kept on disk: if a call did not return, give its records again, which is harmless. One thread uses a Hub.
require "ffi"
require "json"

module HealthHub
  # `code` is the hub's (Protocol §9.1), or `protocol` if its answer was invalid; `body` is the whole ERROR.
  class Error < StandardError
    attr_reader :code, :reason, :body

    def initialize(code, reason, body = {})
      super("#{code}: #{reason}")
      @code, @reason, @body = code, reason, body
    end
  end

  # The settings are wrong, and a person has to correct them: exit code 78 of a plugin.
  class SettingsError < StandardError; end

  # Raised by the block of a sink if its target is away: the hub pauses the subscription for this many seconds
  # (0.1 to 604,800). Then all records of the delivery come again.
  class Pause < StandardError
    attr_reader :seconds, :reason

    def initialize(seconds, reason = "the target is away")
      super(reason)
      @seconds, @reason = seconds, reason
    end
  end

  # A command from a person to a plugin. `cancelled` turns true when the person cancels it.
  Command = Struct.new(:id, :name, :args, :dry_run, :session, :cancelled)
  Delivery = Struct.new(:want, :number, :records, :size, :session)

  # The functions of libzmq that this file uses.
  module ZMQ
    extend FFI::Library
    # The library's name on Linux and on other systems, and any version in the usual folders.
    FOLDERS = ENV.fetch("LD_LIBRARY_PATH", "").split(":") + %w[/usr/lib/*-linux-gnu* /usr/lib /usr/lib64 /usr/local/lib /opt/homebrew/lib]
    ffi_lib ["libzmq.so.5", "zmq", "libzmq.5.dylib", *FOLDERS.flat_map { |folder| Dir["#{folder}/libzmq.{so,dylib}*", "#{folder}/libzmq.*.dylib"].sort }]
    class Item < FFI::Struct
      layout :socket, :pointer, :fd, :int, :events, :short, :revents, :short
    end
    attach_function :zmq_ctx_new, [], :pointer
    attach_function :zmq_ctx_term, [:pointer], :int, blocking: true
    attach_function :zmq_socket, [:pointer, :int], :pointer
    attach_function :zmq_setsockopt, [:pointer, :int, :pointer, :size_t], :int
    attach_function :zmq_getsockopt, [:pointer, :int, :pointer, :pointer], :int
    attach_function :zmq_connect, [:pointer, :string], :int
    attach_function :zmq_close, [:pointer], :int
    attach_function :zmq_send, [:pointer, :pointer, :size_t, :int], :int
    attach_function :zmq_msg_init, [:pointer], :int
    attach_function :zmq_msg_recv, [:pointer, :pointer, :int], :int
    attach_function :zmq_msg_data, [:pointer], :pointer
    attach_function :zmq_msg_close, [:pointer], :int
    attach_function :zmq_msg_more, [:pointer], :int
    attach_function :zmq_poll, [:pointer, :int, :long], :int, blocking: true
    attach_function :zmq_socket_monitor, [:pointer, :string, :int], :int
    attach_function :zmq_errno, [], :int
    attach_function :zmq_strerror, [:int], :string
    PAIR, SUB, DEALER, DONTWAIT, SNDMORE, POLLIN = 0, 2, 5, 1, 2, 1
    SUBSCRIBE, LINGER, RECONNECT_IVL, RECONNECT_IVL_MAX, SNDHWM, RCVHWM, IMMEDIATE = 6, 17, 18, 21, 23, 24, 39
    PLAIN_USERNAME, PLAIN_PASSWORD, CURVE_PUBLICKEY, CURVE_SECRETKEY, CURVE_SERVERKEY = 45, 46, 48, 49, 50
    # Events of a socket's monitor.
    SUCCEEDED, FAILED_AUTH = 0x1000, 0x4000
  end

  # A socket to the hub, with the credentials for it.
  class Socket
    attr_reader :pointer

    def initialize(context, kind, address, proof, topics = [])
      @pointer = ZMQ.zmq_socket(context, kind)
      { ZMQ::LINGER => 0, ZMQ::RECONNECT_IVL => 50, ZMQ::RECONNECT_IVL_MAX => 1000, ZMQ::SNDHWM => 10_000,
        ZMQ::RCVHWM => 10_000 }.each { |option, value| set(option, [value].pack("l")) }
      # ZeroMQ must not queue messages for an absent hub: the next session repeats every open request.
      set(ZMQ::IMMEDIATE, [1].pack("l")) if kind == ZMQ::DEALER
      proof.each { |option, text| set(option, text) }
      topics.each { |topic| set(ZMQ::SUBSCRIBE, topic) }
      @message = FFI::MemoryPointer.new(64)
      fail_with("connect #{address}") if ZMQ.zmq_connect(@pointer, address) != 0
    end

    def set(option, text)
      bytes = FFI::MemoryPointer.new(:char, text.bytesize + 1).put_bytes(0, text)
      fail_with("option #{option}") if ZMQ.zmq_setsockopt(@pointer, option, bytes, text.bytesize) != 0
    end

    def fail_with(what) = raise(Error.new("socket", "#{what}: #{ZMQ.zmq_strerror(ZMQ.zmq_errno)}"))

    # Whether there was a connection to send it to.
    def send(verb, body)
      flags = [ZMQ::DONTWAIT | ZMQ::SNDMORE, ZMQ::DONTWAIT]
      [verb, body].zip(flags).all? do |text, flag|
        bytes = FFI::MemoryPointer.new(:char, text.bytesize + 1).put_bytes(0, text)
        ZMQ.zmq_send(@pointer, bytes, text.bytesize, flag) >= 0
      end
    end

    # The frames of a message that is here, or nil.
    def receive
      frames = []
      loop do
        ZMQ.zmq_msg_init(@message)
        size = ZMQ.zmq_msg_recv(@message, @pointer, ZMQ::DONTWAIT)
        return nil if size < 0
        frames << ZMQ.zmq_msg_data(@message).read_bytes(size)
        more = ZMQ.zmq_msg_more(@message) == 1
        ZMQ.zmq_msg_close(@message)
        return frames unless more
      end
    end

    # A socket that reports the results of this one's handshakes. Without it a log-in that the hub refuses, such as with a
    # key that was revoked, looks like a hub that is away.
    def handshakes(context)
      address = "inproc://handshakes"
      ZMQ.zmq_socket_monitor(@pointer, address, ZMQ::SUCCEEDED | ZMQ::FAILED_AUTH) == 0 or fail_with("monitor")
      Socket.new(context, ZMQ::PAIR, address, {})
    end

    # Before `handshakes` is closed, because libzmq's end waits for a reader.
    def unwatch = ZMQ.zmq_socket_monitor(@pointer, nil, 0)

    def close = ZMQ.zmq_close(@pointer)
  end

  # A session with the hub, through its restarts.
  class Hub
    # Defaults: `key` is the file that HUB_KEY names; door, feed and instance are its own, or those of HUB_DOOR,
    # HUB_FEED and HUB_INSTANCE. `members` are more of HELLO, such as "writes". `plugin` is the source of all records.
    def initialize(instance = nil, plugin: nil, version: "1.0", door: nil, feed: nil, key: nil, members: {}, token: nil)
      path = key || (door ? nil : ENV["HUB_KEY"])
      keys = path ? JSON.parse(File.read(path)) : {}
      @instance = instance || keys["instance"] || ENV["HUB_INSTANCE"] or raise Error.new("instance", "no instance: give one, or set HUB_INSTANCE")
      door ||= keys["door"] || ENV["HUB_DOOR"] or raise Error.new("door", 'no door: eval "$(hub status --env)" sets HUB_DOOR')
      @feed = feed || (path ? keys["feed"] : ENV["HUB_FEED"])
      @proof = {}
      @proof = { ZMQ::PLAIN_USERNAME => @instance, ZMQ::PLAIN_PASSWORD => token } if token
      @proof = { ZMQ::CURVE_SERVERKEY => keys["serverKey"], ZMQ::CURVE_PUBLICKEY => keys["publicKey"], ZMQ::CURVE_SECRETKEY => keys["secretKey"] } if path
      @hello = { "protocol" => [1], "instance" => @instance, "plugin" => plugin || @instance, "version" => version }.merge(members)
      @context = ZMQ.zmq_ctx_new
      @door = Socket.new(@context, ZMQ::DEALER, @address = door, @proof)
      @handshakes = @door.handshakes(@context)
      @items = FFI::MemoryPointer.new(ZMQ::Item, 4)
      @launched = @stdin = !token.nil?
      @open = @stopping = @over = false
      @greeted, @heard, @pinged, @hold = -1e9, 0.0, 0.0, 0.0
      @number, @sessions, @sent, @inbox, @wants, @commands, @deliver, @carry = 0, 0, {}, [], {}, {}, {}, {}
      @again, @pauses, @bells = {}, {}, []
      at_exit { terminate } # before Ruby unloads libzmq, whose thread would go on without its code
    end

    # The hub's WELCOME (Protocol §4.2), with "settings" and "epoch"; waits for the first.
    def welcome
      wait { @welcome }
      @welcome
    end

    # Whether the hub has told this program to end.
    def stopping? = @launched && (@stopping || !@stdin)

    # Returns when the hub has them on its disk: a hash for each record, in their order, whose "result" is `stored` or
    # `duplicate` with "number" and "seq", or `rejected` with "code" and "reason". The records of a group must be adjacent.
    def give(records, backfill: false)
      texts = records.map { |record| JSON.generate(record) }
      @giving = { texts: texts, groups: records.map { |record| record["group"] }, next: 0, results: [], backfill: backfill }
      wait { @giving[:results].size == texts.size || @giving[:error] }
      raise @giving[:error] if @giving[:error]
      @giving[:results]
    ensure
      @giving, @sent = nil, {}
    end

    # Publishes a live value, the body of LIVE (Protocol §5.2). It has no answer and is not kept: after the first session, for
    # which the call waits, it returns false if the hub is away.
    def live(body) = tell("LIVE", body)

    # Publishes an event, the body of EVENT (Protocol §5.2), such as {"event" => "disconnected"}; otherwise as `live`.
    def event(body) = tell("EVENT", body)

    # The hub's answer to TOKEN (Protocol §11): {"account" => "me", "for" => "use"}, `refresh` or `release`.
    def token(body) = ask(body, "TOKEN")

    # Returns when the hub has the token on its disk: {"account" => "me", "expect" => 3, "token" => {…}}. Error `field`: it
    # has another version than "expect". `lost`: the session ended before the answer, `token` has the result.
    def put_token(body) = ask(body, "TOKEN-PUT")

    # One RESULT, a page, of QUERY with these members (Protocol §8.1).
    def ask(body, verb = "QUERY")
      @question = { verb: verb, body: body, due: 0.0 }
      wait { @question[:answer] || @question[:error] }
      raise @question[:error] if @question[:error]
      @question[:answer]
    ensure
      @question = nil
    end

    # Records over all pages: hub.records("types" => ["weight"]) { |record| … }
    def records(question, &block) = pages(question.merge("want" => "records"), "records", ->(page) { page }, &block)

    # Intervals of statistics over all pages (Protocol §8.4).
    def statistics(question, &block) = pages(question.merge("want" => "statistics"), "intervals", ->(page) { page["statistics"] }, &block)

    # Yields the newest version of each record since `place` and new versions, each once: `record`, and `place` to go
    # on from, kept with what was made of the record in one transaction. It replaces what you have under its "number"; a
    # "retraction" withdraws it. If record is nil, delete all records: the hub has a new epoch, whose records follow. The
    # feed only wakes the client; records come from the door, each once. Ends when the hub stops this plugin.
    def follow(types, place = nil)
      topics = ["hub/pulse/"] + %w[sample retraction].product(types || [nil]).map { |name, type| type ? "#{name}/#{type}/" : "#{name}/" }
      place ||= "#{welcome["epoch"]}-0"
      @bells << bell = Socket.new(@context, ZMQ::SUB, @feed, @proof, topics) if @feed && !@feed.empty?
      more = true
      until stopping?
        sessions = @sessions
        if more
          begin
            page = ask({ "want" => "records", "since" => place }.merge(types ? { "types" => types } : {}))
          rescue Error => error
            return if error.code == "stopping"
            raise unless error.code == "epoch"
            place = "#{error.body["epoch"]}-0"
            yield nil, place
            next
          end
          cursor = member(page, "RESULT.cursor", String)
          member(page, "RESULT.records", Array).each { |record| yield record, place = "#{cursor[/\A[^-]*/]}-#{record["seq"]}" }
          place, more = cursor, page.key?("next")
        else
          turn(bell ? nil : 1.0, bell)
          check
          more = bell.nil? || sessions != @sessions
          while bell && (frames = bell.receive)
            more ||= frames[0] != "hub/pulse/" || JSON.parse(frames[2]).then { |pulse| "#{pulse["epoch"]}-#{pulse["head"]}" != place }
          end
        end
      end
    ensure
      @bells.delete(bell)&.close
    end

    # A subscription that the hub remembers (Protocol §10.1); `serve` yields a delivery's records. The block returns
    # the answer, a hash for each such as {"result" => "delivered", "receipt" => "17"}. A Pause
    # that it raises stops the deliveries for a while; any other error of it is a retry of these records.
    def sink(want, &deliver)
      want = { "credit" => { "records" => 1000, "bytes" => 1 << 20 } }.merge(want)
      @deliver[want["want"]] = deliver
      @wants[want["want"]] = want
      say("WANT", want) if @open
    end

    # `serve` yields the Command when a person asks for it. The block returns the result; an Error is its failure.
    def command(name, &carry) = @carry[name] = carry

    def progress(command, done, total = nil, text = nil)
      say("PROGRESS", { "id" => command.id, "done" => done, "total" => total, "text" => text }.compact) if now?(command.session) && @commands[command.id]
      turn(0)
    end

    # Delivers and carries out commands until the hub stops this plugin, or for `seconds`.
    def serve(seconds = nil)
      till = seconds && clock + seconds
      until stopping? || till && clock >= till
        work(@inbox.shift) while @inbox.any? && !stopping?
        turn(till && till - clock)
        check
      end
      !stopping?
    end

    # Says BYE and ends.
    def close
      @open ? say("BYE", {}) : @over = true
      till = clock + 1
      turn(0.05) until @over || @failure || clock > till
    ensure
      terminate
    end

    private

    def terminate
      return unless @context
      @door.unwatch
      [@door, @handshakes, *@bells].each(&:close)
      ZMQ.zmq_ctx_term(@context)
      @context = nil
    end

    def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    def check
      raise @failure if @failure
    end

    def wait
      turn(0)
      until yield
        check
        raise Error.new("stopping", "the hub stops this program; what was not stored is given again") if stopping?
        turn(nil)
      end
    end

    def pages(question, name, part)
      loop do
        page = part.call(ask(question))
        page[name].each { |one| yield one }
        return unless page["next"]
        question = question.merge("next" => page["next"])
      end
    end

    def work(item)
      if item.is_a?(Delivery)
        pause = {}
        begin
          till, reason = @pauses[item.want]
          raise Pause.new(till - clock, reason) if till && clock < till # also for deliveries that were already in transit
          results = @deliver[item.want].call(item.records)
        rescue Pause => error
          @pauses[item.want] = [clock + error.seconds, error.reason]
          pause = { "pause" => [100, (error.seconds * 1000).to_i].max }
          results = item.records.map { { "result" => "retry", "after" => pause["pause"], "reason" => error.reason } }
        rescue StandardError => error
          raise if error.is_a?(Error)
          results = item.records.map { { "result" => "retry", "after" => 60_000, "reason" => error.class.name } }
        end
        raise Error.new("field", "#{item.want}: #{item.records.size} records were delivered, #{results.size} results came") if results.size != item.records.size
        # In a new session the hub repeats deliveries without an answer.
        say("DONE", { "want" => item.want, "delivery" => item.number, "results" => results, "credit" => { "records" => results.size, "bytes" => item.size } }.merge(pause)) if now?(item.session)
      else
        answer = if item.cancelled then { "outcome" => "cancelled" }
                 elsif !@carry[item.name] then { "outcome" => "failed", "code" => "command", "reason" => "there is no command #{item.name}" }
                 else
                   begin
                     { "outcome" => "done", "result" => @carry[item.name].call(item) }
                   rescue Error => error
                     { "outcome" => "failed", "code" => error.code, "reason" => error.reason }
                   end
                 end
        say("OUTCOME", { "id" => item.id }.merge(answer)) if now?(item.session) && @commands.delete(item.id)
      end
      turn(0)
    end

    def tell(verb, body)
      welcome
      say(verb, body) if @open
      @open
    end

    def now?(session) = @open && @welcome["session"] == session

    def say(verb, body) = deliver_frames(verb, JSON.generate(body))

    def deliver_frames(verb, text)
      return if @door.send(verb, text)
      @open = false # no connection: try again soon
      @greeted = clock - 1.9
    end

    # Sends due messages, waits for an event, and handles it.
    def turn(seconds, bell = nil)
      due = work_off(clock)
      due = [due, seconds].min if seconds
      watched = [[@door.pointer, 0]] + (@stdin ? [[nil, 0]] : []) + [@handshakes, bell].compact.map { |socket| [socket.pointer, 0] }
      watched.each_with_index do |(socket, fd), n|
        item = ZMQ::Item.new(@items + n * ZMQ::Item.size)
        item[:socket], item[:fd], item[:events], item[:revents] = socket, fd, ZMQ::POLLIN, 0
      end
      ZMQ.zmq_poll(@items, watched.size, [0, (due * 1000).ceil].max)
      @stdin = false if @stdin && ZMQ::Item.new(@items + ZMQ::Item.size)[:revents] != 0 && $stdin.sysread(4096).nil?
    rescue EOFError
      @stdin = false
    else
      while (frames = @handshakes.receive)
        hear_handshake(frames[0].unpack1("S"))
      end
      100.times do
        frames = !@failure && @door.receive or break
        begin
          hear(frames)
        rescue Error => error
          refuse(error)
        end
      end
      work_off(clock)
    end

    def refuse(error)
      @failure ||= error
      @open = false
    end

    def hear_handshake(kind)
      if kind == ZMQ::SUCCEEDED
        say("PING", {}) if @open # the hub may have been restarted and not know the session
      elsif kind == ZMQ::FAILED_AUTH
        what = @launched ? "this launch token" : "the key of #{@instance} (any more): hub keys list shows the keys"
        refuse(Error.new("forbidden", "the hub at #{@address} does not know #{what}"))
      end
    end

    # Returns the seconds until the next message is due.
    def work_off(now)
      return 1.0 if @failure || @over
      unless @open
        if now - @greeted >= 2
          @greeted = now
          say("HELLO", @hello)
        end
        return [0.01, @greeted + 2 - now].max
      end
      beat = @welcome["heartbeat"]
      if now - @heard > beat["timeout"] / 1000.0
        @open, @greeted = false, -1e9
        return 0.0
      end
      # If a call waits for an answer, check sooner whether the hub has been restarted.
      interval = beat["interval"] / 1000.0
      interval = [1.0, interval].min if @sent.any? || @question&.key?(:id)
      if now - [@heard, @pinged].max >= interval
        @pinged = now
        say("PING", {})
      end
      due = [@heard, @pinged].max + interval
      @again.select { |_, moment| now >= moment }.each_key { |name| @again.delete(name) && say("WANT", @wants[name]) }
      now >= @hold ? fill : due = [due, @hold].min
      if @question && !@question[:id] && !@question[:error] && now >= @question[:due]
        @question[:id] = @number += 1
        say(@question[:verb], { "id" => @number }.merge(@question[:body]))
      end
      due = [due, @question[:due]].min if @question && !@question[:id]
      [0.0, ([due] + @again.values).min - now].max
    end

    # Sends as much as credit and limits allow; the records of a group in one batch.
    def fill
      giving = @giving or return
      limits = @welcome["limits"]
      while giving[:next] < giving[:texts].size && !giving[:error]
        from = till = giving[:next]
        size = 100 # for the batch's other members
        while till < giving[:texts].size
          stop = till + 1
          stop += 1 while giving[:groups][till] && stop < giving[:texts].size && giving[:groups][stop] == giving[:groups][till]
          more = size + giving[:texts][till...stop].sum { |text| text.bytesize + 1 }
          if stop - from > limits["batchRecords"] || more > limits["frameBytes"]
            giving[:error] = Error.new("size", "records #{from} to #{stop - 1}, #{more} bytes, belong together and do not fit into a batch of #{limits["batchRecords"]} records and #{limits["frameBytes"]} bytes") if till == from
            break
          end
          break if stop - from > @records || more > @bytes
          till, size = stop, more
        end
        return if till == from # more credit comes with STORED
        text = "{\"batch\":#{@number += 1},#{giving[:backfill] ? '"backfill":true,' : ""}\"records\":[#{giving[:texts][from...till].join(",")}]}"
        @sent[@number] = [from, till]
        giving[:next] = till
        @records -= till - from
        @bytes -= text.bytesize
        deliver_frames("SAMPLES", text)
        return unless @open
      end
    end

    # The member at VERB.a.b of a body, of this kind, or an error that names it.
    def member(body, path, kind)
      value = path.split(".").drop(1).reduce(body) { |part, name| part.is_a?(Hash) ? part[name] : nil }
      value.is_a?(kind) ? value : raise(Error.new("protocol", "the hub's #{path} is not of the kind #{kind}: is this a hub, and how old is it?"))
    end

    VERBS = %w[WELCOME STORED RESULT TOKEN DELIVER COMMAND PING PONG STOP BYE ERROR].freeze

    def hear(frames)
      raise Error.new("protocol", "the hub sent a message of #{frames.size} frames; a verb and a body are two") if frames.size != 2
      verb, text = frames
      return unless VERBS.include?(verb) # a verb of a newer protocol
      begin
        body = JSON.parse(text.force_encoding("UTF-8"))
      rescue JSON::ParserError => error
        raise Error.new("protocol", "the hub's #{verb} is not JSON: #{error.message[0, 80]}")
      end
      raise Error.new("protocol", "the hub's #{verb} is not a JSON object") unless body.is_a?(Hash)
      @heard = clock
      case verb
      when "WELCOME" then hear_welcome(body)
      when "STORED" then hear_stored(body)
      when "RESULT", "TOKEN" then @question[:answer] = body if @question && @question[:id] == member(body, "#{verb}.id", Integer)
      when "DELIVER" then @inbox << Delivery.new(member(body, "DELIVER.want", String), member(body, "DELIVER.delivery", Integer), member(body, "DELIVER.records", Array), text.bytesize, @welcome["session"])
      when "COMMAND" then hear_command(body)
      when "PING" then deliver_frames("PONG", text)
      when "STOP" then @stopping = true
      when "BYE" then @open, @over = false, true
      when "ERROR" then hear_error(body)
      end
    end

    def hear_welcome(body)
      session = member(body, "WELCOME.session", String)
      member(body, "WELCOME.epoch", String)
      %w[limits.batchRecords limits.frameBytes credit.records credit.bytes heartbeat.interval heartbeat.timeout].each { |path| member(body, "WELCOME.#{path}", Integer) }
      another = @welcome.nil? || @welcome["session"] != session
      @welcome, @open = body, true
      return unless another
      @sessions += 1
      @stopping, @hold = false, 0.0
      @records, @bytes = body["credit"].values_at("records", "bytes")
      rewind
      if @question&.delete(:id) && @question[:verb] == "TOKEN-PUT"
        @question[:error] = Error.new("lost", "the session ended before the hub answered: ask which token it has")
      end
      @inbox.clear
      @commands.each_value { |command| command.cancelled = true }
      @commands.clear
      @wants.each_value { |want| say("WANT", want) }
    end

    def hear_stored(body)
      from, till = @sent.delete(member(body, "STORED.batch", Integer))
      earn(body)
      return unless from # it was sent again since then
      results = member(body, "STORED.results", Array)
      raise Error.new("protocol", "STORED.results has #{results.size} results for #{till - from} records") if results.size != till - from
      results.each_with_index do |result, n|
        next if result.is_a?(Hash) && %w[stored duplicate rejected].include?(result["result"])
        raise Error.new("protocol", "STORED.results[#{n}].result is none of stored, duplicate, rejected")
      end
      @giving[:results].concat(results)
    end

    def hear_command(body)
      id = member(body, "COMMAND.id", Integer)
      if body.key?("command")
        @inbox << @commands[id] = Command.new(id, member(body, "COMMAND.command", String), body["args"] || {}, body["dryRun"] == true, @welcome["session"], false)
      elsif body["cancel"] && @commands[id]
        @commands[id].cancelled = true
      end
    end

    def hear_error(body)
      code, ref, after = member(body, "ERROR.code", String), body["ref"], clock + (body["after"] || 1000) / 1000.0
      error = Error.new(code, body["reason"].to_s, body)
      earn(body)
      if code == "hello-first"
        @open, @greeted = false, -1e9 if @open
      elsif body.key?("want")
        raise error unless code == "store"
        @again[body["want"]] = after
      elsif body["closed"]
        raise error
      elsif @sent.key?(ref)
        if %w[store stopping].include?(code)
          # The hub also refuses the batches after it, in their order: send all of them again.
          @hold = code == "store" ? after : Float::INFINITY
          @stopping ||= code == "stopping"
          rewind
        else
          @giving[:error] = error
        end
      elsif @question && @question[:id] == ref && ref
        %w[store busy].include?(code) ? @question.replace(verb: @question[:verb], body: @question[:body], due: after) : @question[:error] = error
      elsif !%w[store stopping].include?(code)
        warn "the hub says: #{error.message}"
      end
    end

    def earn(body)
      return unless body["credit"].is_a?(Hash)
      @records += member(body, "STORED.credit.records", Integer)
      @bytes += member(body, "STORED.credit.bytes", Integer)
    end

    def rewind
      @giving[:next] = @sent.values.map(&:first).min || @giving[:next] if @giving
      @sent.clear
    end
  end

  # The main function of a program that the hub starts (Protocol §13): exit HealthHub.plugin(MANIFEST) { |hub| … }
  # `objections` is called with settings, and returns their faults: [{"setting" => …, "reason" => …}].
  def self.plugin(manifest, objections = nil)
    case ARGV
    when ["--describe"] then puts JSON.generate(manifest)
    when ["--check-settings"] then puts JSON.generate("objections" => objections ? objections.call(JSON.parse($stdin.read)) : [])
    when ["--run"]
      token = +""
      token << $stdin.sysread(1) until token.end_with?("\n") # byte by byte: the program later waits for the end of stdin
      hub = Hub.new(plugin: manifest["name"], version: manifest["version"], token: token.chomp, members: manifest.slice("reads", "writes", "declares"))
      begin
        hub.welcome
        yield hub
      rescue Error => error
        raise unless error.code == "stopping"
      end
      hub.close
    else
      warn "#{manifest["name"]}: the hub starts it with --run; --describe prints what it is"
      return 64
    end
    0
  rescue EOFError
    75
  rescue SettingsError => error
    warn error.message
    78
  rescue Error => error
    warn error.message
    error.code == "protocol" ? 76 : 77
  end
end
