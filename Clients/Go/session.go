package healthhub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

const forever = 100 * 365 * 24 * time.Hour

type (
	object  = map[string]json.RawMessage
	deliver = func(context.Context, []json.RawMessage) ([]Answer, error)
	carry   = func(context.Context, *Command) (any, error)
)

// A giving is the records of a Give; next is the first that is to be sent.
type giving struct {
	texts      [][]byte
	groups     []string
	results    []Result
	isBackfill bool
	next       int
	err        error
}

// A question is a QUERY, TOKEN or TOKEN-PUT; its id is 0 until it is sent in this session.
type question struct {
	verb   string
	body   object
	id     int64
	due    time.Time
	answer json.RawMessage
	err    error
}

// A span is the records that a batch has of a giving.
type span struct{ from, till int }

type paused struct {
	till   time.Time
	reason string
}

// An item is a delivery or a command that waits for Serve.
type item struct {
	want     string
	delivery int64
	records  []json.RawMessage
	size     int
	session  int64
	command  *Command
}

// encode returns compact JSON. Values that JSON does not have, such as NaN, are an Error that names the place.
func encode(value any, where string) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, &Error{Code: "json", Reason: where + ": " + err.Error()}
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

func toObject(value any, where string) (object, error) {
	text, err := encode(value, where)
	if err != nil {
		return nil, err
	}
	var members object
	if json.Unmarshal(text, &members) != nil || members == nil {
		return nil, &Error{Code: "json", Reason: where + " is not a JSON object"}
	}
	return members, nil
}

// parse returns the members of an object of the hub, none if it is not an object.
func parse(text json.RawMessage) (members object) {
	json.Unmarshal(text, &members)
	return members
}

// member returns the member at VERB.a.b of a body, or an Error that names it if it is not of this kind.
func member[Kind any](body object, path string) (Kind, error) {
	var value Kind
	names := strings.Split(path, ".")[1:]
	for _, name := range names[:len(names)-1] {
		body = parse(body[name])
	}
	text := body[names[len(names)-1]]
	if text == nil || string(text) == "null" || json.Unmarshal(text, &value) != nil {
		return value, invalid("the hub's %s is not of the type %T: is this a hub, and how old is it?", path, value)
	}
	return value, nil
}

// invalid returns the Error of a message that a hub must not send.
func invalid(format string, values ...any) error {
	return &Error{Code: "protocol", Reason: fmt.Sprintf(format, values...)}
}

// refusal returns an error's Error of this code, or nil.
func refusal(err error, code string) *Error {
	var refusal *Error
	if errors.As(err, &refusal) && refusal.Code == code {
		return refusal
	}
	return nil
}

func unlessStopping(err error) error {
	if refusal(err, "stopping") != nil {
		return nil
	}
	return err
}

// ended returns why nothing more can come for this call, or nil.
func (h *Hub) ended(ctx context.Context) error {
	if h.failure != nil {
		return h.failure
	}
	return ctx.Err()
}

// watch wakes the turns of a call when its context is done, until the returned function is called.
func (h *Hub) watch(ctx context.Context) func() {
	if ctx.Done() == nil || h.sockets == nil {
		return func() {}
	}
	isOver, hasEnded, sockets := make(chan struct{}), make(chan struct{}), h.sockets
	go func() {
		defer close(hasEnded)
		select {
		case <-ctx.Done():
			sockets.wake()
		case <-isOver:
		}
	}()
	return func() {
		close(isOver)
		<-hasEnded
	}
}

// await takes turns until something is so.
func (h *Hub) await(ctx context.Context, isSo func() bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer h.watch(ctx)()
	for h.turn(0, nil); !isSo(); h.turn(forever, nil) {
		if err := h.ended(ctx); err != nil {
			return err
		}
		if h.IsStopping() {
			return &Error{Code: "stopping", Reason: "the hub stops this program; what was not stored is given again"}
		}
	}
	return nil
}

// work answers a delivery or a command. It returns an error if Serve has to end.
func (h *Hub) work(ctx context.Context, next item) error {
	if next.command != nil {
		answer := h.carryOut(ctx, next.command)
		isOpen := h.commands[next.command.id] == next.command
		delete(h.commands, next.command.id)
		if isOpen && h.isNow(next.session) {
			h.say("OUTCOME", answer)
		}
		return nil
	}
	var answers []Answer
	var err error
	if last := h.pauses[next.want]; time.Now().Before(last.till) {
		err = &Pause{time.Until(last.till), last.reason} // also for deliveries that were already in transit
	} else {
		answers, err = h.deliver[next.want](ctx, next.records)
	}
	done := Object{"want": next.want, "delivery": next.delivery, "credit": Object{"records": len(next.records), "bytes": next.size}}
	var pause *Pause
	var failure *Error
	switch {
	case errors.As(err, &pause):
		answer := Answer{Result: "retry", After: pause.For, Reason: first(pause.Reason, "the target is away")}
		if answer.After < 100*time.Millisecond {
			answer.After = 100 * time.Millisecond
		}
		h.pauses[next.want] = paused{time.Now().Add(answer.After), answer.Reason}
		done["pause"] = answer.After.Milliseconds()
		answers = repeated(answer, len(next.records))
	case errors.As(err, &failure):
		return failure
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		answers = repeated(Answer{Result: "retry", After: time.Minute, Reason: fmt.Sprintf("%T", err)}, len(next.records))
	}
	if len(answers) != len(next.records) {
		return &Error{Code: "field", Reason: fmt.Sprintf("%s: %d records were delivered, %d answers came", next.want, len(next.records), len(answers))}
	}
	done["results"] = answers
	if h.isNow(next.session) { // in a new session the hub repeats deliveries without an answer
		h.say("DONE", done)
	}
	return nil
}

func repeated(answer Answer, count int) []Answer {
	answers := make([]Answer, count)
	for n := range answers {
		answers[n] = answer
	}
	return answers
}

// carryOut returns the OUTCOME of a command.
func (h *Hub) carryOut(ctx context.Context, command *Command) Object {
	outcome := Object{"id": command.id, "outcome": "cancelled"}
	failed := func(code, reason string) Object {
		return Object{"id": command.id, "outcome": "failed", "code": code, "reason": reason}
	}
	carry := h.carry[command.Name]
	if command.isCancelled {
		return outcome
	}
	if carry == nil {
		return failed("command", "there is no command "+command.Name)
	}
	ctx, command.cancel = context.WithCancel(ctx)
	defer command.cancel()
	result, err := carry(ctx, command)
	var text []byte
	if err == nil {
		text, err = encode(result, "the result of "+command.Name)
	}
	var refusal *Error
	switch {
	case err == nil:
		outcome["outcome"] = "done"
		if result != nil {
			outcome["result"] = json.RawMessage(text)
		}
		return outcome
	case command.isCancelled:
		return outcome
	case errors.As(err, &refusal):
		return failed(refusal.Code, refusal.Reason)
	}
	return failed("failed", err.Error())
}

func (h *Hub) isNow(session int64) bool { return h.isOpen && h.sessions == session }

func (h *Hub) say(verb string, body any) {
	text, err := encode(body, verb)
	if err != nil {
		h.fail(err)
		return
	}
	h.send(verb, text)
}

func (h *Hub) send(verb string, text []byte) {
	if !h.sockets.door.send(verb, text) {
		h.isOpen = false // no connection: try again soon
		h.greeted = time.Now().Add(-1900 * time.Millisecond)
	}
}

// turn sends due messages, waits for an event, and handles it.
func (h *Hub) turn(limit time.Duration, bell *socket) {
	if h.sockets == nil {
		return
	}
	if due := h.workOff(time.Now()); due < limit {
		limit = due
	}
	h.hasInput = h.sockets.wait(limit, h.hasInput, bell)
	for frames := h.sockets.handshakes.receive(); frames != nil; frames = h.sockets.handshakes.receive() {
		h.hearHandshake(event(frames))
	}
	for n := 0; n < 100 && h.failure == nil; n++ {
		frames := h.sockets.door.receive()
		if frames == nil {
			break
		}
		if err := h.hear(frames); err != nil {
			h.fail(err)
		}
	}
	h.workOff(time.Now())
}

func (h *Hub) fail(err error) {
	if h.failure == nil {
		h.failure = err
	}
	h.isOpen = false
}

func (h *Hub) hearHandshake(kind uint16) {
	switch {
	case kind == handshakeSucceeded && h.isOpen:
		h.say("PING", struct{}{}) // the hub may have been restarted and not know the session
	case kind == handshakeRefused:
		what := "the key of " + h.instance + " (any more): hub keys list shows the keys"
		if h.isLaunched {
			what = "this launch token"
		}
		h.fail(&Error{Code: "forbidden", Reason: "the hub at " + h.address + " does not know " + what})
	}
}

// workOff sends due messages, and returns the time until the next one is due.
func (h *Hub) workOff(now time.Time) time.Duration {
	if h.failure != nil || h.isOver {
		return time.Second
	}
	if !h.isOpen {
		if now.Sub(h.greeted) >= 2*time.Second {
			h.greeted = now
			h.send("HELLO", h.hello)
		}
		if left := h.greeted.Add(2 * time.Second).Sub(now); left > 10*time.Millisecond {
			return left
		}
		return 10 * time.Millisecond
	}
	if now.Sub(h.heard) > h.timeout {
		h.isOpen, h.greeted = false, time.Time{}
		return 0
	}
	// If a call waits for an answer, check sooner whether the hub has been restarted.
	interval := h.interval
	if (len(h.sent) > 0 || h.question != nil && h.question.id != 0) && interval > time.Second {
		interval = time.Second
	}
	last := h.heard
	if h.pinged.After(last) {
		last = h.pinged
	}
	if now.Sub(last) >= interval {
		h.pinged, last = now, now
		h.say("PING", struct{}{})
	}
	due := last.Add(interval)
	sooner := func(other time.Time) {
		if other.Before(due) {
			due = other
		}
	}
	for name, moment := range h.again {
		if now.Before(moment) {
			sooner(moment)
		} else {
			delete(h.again, name)
			h.send("WANT", h.wants[name])
		}
	}
	if now.Before(h.hold) {
		sooner(h.hold)
	} else {
		h.fill()
	}
	if mine := h.question; mine != nil && mine.id == 0 && mine.err == nil {
		if now.Before(mine.due) {
			sooner(mine.due)
		} else {
			h.number++
			mine.id = h.number
			mine.body["id"] = json.RawMessage(fmt.Sprint(mine.id))
			h.say(mine.verb, mine.body)
		}
	}
	if left := due.Sub(now); left > 0 {
		return left
	}
	return 0
}

// fill sends as many records as credit and limits allow, those of a group in one batch.
func (h *Hub) fill() {
	mine := h.giving
	for mine != nil && h.isOpen && mine.err == nil && mine.next < len(mine.texts) {
		from := mine.next
		till, size := from, int64(100) // for the batch's other members
		for till < len(mine.texts) {
			stop, more := till, size
			for stop == till || stop < len(mine.texts) && mine.groups[till] != "" && mine.groups[stop] == mine.groups[till] {
				more += int64(len(mine.texts[stop])) + 1
				stop++
			}
			count := int64(stop - from)
			if count > h.batchRecords || more > h.frameBytes {
				if till == from {
					mine.err = &Error{Code: "size", Reason: fmt.Sprintf("records %d to %d, %d bytes, belong together and do not fit into a batch of"+
						" %d records and %d bytes", from, stop-1, more, h.batchRecords, h.frameBytes)}
				}
				break
			}
			if count > h.records || more > h.bytes {
				break
			}
			till, size = stop, more
		}
		if till == from {
			return // more credit comes with STORED
		}
		h.number++
		text := bytes.NewBuffer(make([]byte, 0, size))
		fmt.Fprintf(text, `{"batch":%d,`, h.number)
		if mine.isBackfill {
			text.WriteString(`"backfill":true,`)
		}
		text.WriteString(`"records":[`)
		text.Write(bytes.Join(mine.texts[from:till], []byte(",")))
		text.WriteString("]}")
		h.sent[h.number] = span{from, till}
		mine.next = till
		h.records -= int64(till - from)
		h.bytes -= int64(text.Len())
		h.send("SAMPLES", text.Bytes())
	}
}

func (h *Hub) hear(frames [][]byte) error {
	if len(frames) != 2 {
		return invalid("the hub sent a message of %d frames; a verb and a body are two", len(frames))
	}
	verb, text := string(frames[0]), json.RawMessage(frames[1])
	switch verb {
	case "WELCOME", "STORED", "RESULT", "TOKEN", "DELIVER", "COMMAND", "PING", "PONG", "STOP", "BYE", "ERROR":
	default:
		return nil // a verb of a newer protocol
	}
	var body object
	var syntax *json.SyntaxError
	if err := json.Unmarshal(text, &body); errors.As(err, &syntax) {
		return invalid("the hub's %s is not JSON: %v", verb, err)
	} else if err != nil || body == nil {
		return invalid("the hub's %s is not a JSON object", verb)
	}
	h.heard = time.Now()
	switch verb {
	case "WELCOME":
		return h.hearWelcome(body, text)
	case "STORED":
		return h.hearStored(body)
	case "RESULT", "TOKEN":
		id, err := member[int64](body, verb+".id")
		if err == nil && h.question != nil && h.question.id == id {
			h.question.answer = text
		}
		return err
	case "DELIVER":
		return h.hearDeliver(body, len(text))
	case "COMMAND":
		return h.hearCommand(body)
	case "PING":
		h.send("PONG", text)
	case "STOP":
		h.isStopping = true
	case "BYE":
		h.isOpen, h.isOver = false, true
	case "ERROR":
		return h.hearError(body, text)
	}
	return nil
}

func (h *Hub) hearWelcome(body object, text json.RawMessage) error {
	numbers := map[string]int64{}
	for _, path := range []string{"limits.batchRecords", "limits.frameBytes", "credit.records", "credit.bytes",
		"heartbeat.interval", "heartbeat.timeout"} {
		number, err := member[int64](body, "WELCOME."+path)
		if err != nil {
			return err
		}
		numbers[path] = number
	}
	session, err := member[string](body, "WELCOME.session")
	if err != nil {
		return err
	}
	epoch, err := member[string](body, "WELCOME.epoch")
	if err != nil {
		return err
	}
	isAnother := h.session != session || h.welcome == nil
	h.session, h.epoch, h.welcome, h.isOpen = session, epoch, text, true
	h.batchRecords, h.frameBytes = numbers["limits.batchRecords"], numbers["limits.frameBytes"]
	h.interval = time.Duration(numbers["heartbeat.interval"]) * time.Millisecond
	h.timeout = time.Duration(numbers["heartbeat.timeout"]) * time.Millisecond
	if !isAnother {
		return nil
	}
	h.sessions++
	h.isStopping, h.hold = false, time.Time{}
	h.records, h.bytes = numbers["credit.records"], numbers["credit.bytes"]
	h.rewind()
	if mine := h.question; mine != nil && mine.answer == nil {
		if mine.id != 0 && mine.verb == "TOKEN-PUT" { // the hub may have stored it
			mine.err = &Error{Code: "lost", Reason: "the session ended before the hub answered: ask which token it has"}
		}
		mine.id = 0
	}
	h.inbox = nil
	for id, command := range h.commands {
		command.stop()
		delete(h.commands, id)
	}
	for _, want := range h.wants {
		h.send("WANT", want)
	}
	return nil
}

func (h *Hub) hearStored(body object) error {
	batch, err := member[int64](body, "STORED.batch")
	if err != nil {
		return err
	}
	if err := h.earn(body); err != nil {
		return err
	}
	span, isSent := h.sent[batch]
	delete(h.sent, batch)
	if !isSent {
		return nil // it was sent again since then
	}
	texts, err := member[[]json.RawMessage](body, "STORED.results")
	if err != nil {
		return err
	}
	if len(texts) != span.till-span.from {
		return invalid("STORED.results has %d results for %d records", len(texts), span.till-span.from)
	}
	for n, text := range texts {
		var result Result
		err := json.Unmarshal(text, &result)
		if err != nil || result.Result != "stored" && result.Result != "duplicate" && result.Result != "rejected" {
			return invalid("STORED.results[%d].result is none of stored, duplicate, rejected", n)
		}
		h.giving.results = append(h.giving.results, result)
	}
	return nil
}

func (h *Hub) hearDeliver(body object, size int) error {
	want, err := member[string](body, "DELIVER.want")
	if err != nil {
		return err
	}
	delivery, err := member[int64](body, "DELIVER.delivery")
	if err != nil {
		return err
	}
	records, err := member[[]json.RawMessage](body, "DELIVER.records")
	if err == nil && h.deliver[want] != nil {
		h.inbox = append(h.inbox, item{want: want, delivery: delivery, records: records, size: size, session: h.sessions})
	}
	return err
}

func (h *Hub) hearCommand(body object) error {
	id, err := member[int64](body, "COMMAND.id")
	if err != nil {
		return err
	}
	command := h.commands[id]
	if body["command"] == nil {
		if command != nil && string(body["cancel"]) == "true" {
			command.stop()
		}
		return nil
	}
	name, err := member[string](body, "COMMAND.command")
	if err != nil {
		return err
	}
	command = &Command{Name: name, Args: body["args"], DryRun: string(body["dryRun"]) == "true", id: id, session: h.sessions}
	if command.Args == nil {
		command.Args = json.RawMessage("{}")
	}
	h.commands[id] = command
	h.inbox = append(h.inbox, item{session: h.sessions, command: command})
	return nil
}

// stop cancels a command.
func (c *Command) stop() {
	c.isCancelled = true
	if c.cancel != nil {
		c.cancel()
	}
}

func (h *Hub) hearError(body object, text json.RawMessage) error {
	code, err := member[string](body, "ERROR.code")
	if err == nil {
		err = h.earn(body)
	}
	if err != nil {
		return err
	}
	more := struct {
		Reason, Want string
		Ref          int64 // neither a batch nor a question has the number 0
		After        float64
		Closed       bool
	}{After: 1000}
	_ = json.Unmarshal(text, &more) // skips members of another kind
	refusal := &Error{Code: code, Reason: more.Reason, Body: text}
	after := time.Now().Add(time.Duration(more.After * float64(time.Millisecond)))
	_, isSent := h.sent[more.Ref]
	mine := h.question
	switch {
	case code == "hello-first":
		if h.isOpen {
			h.isOpen, h.greeted = false, time.Time{}
		}
	case body["want"] != nil:
		if code != "store" || h.wants[more.Want] == nil {
			return refusal
		}
		h.again[more.Want] = after
	case more.Closed:
		return refusal
	case isSent && (code == "store" || code == "stopping"):
		// The hub also refuses the batches after it, in their order: send all of them again.
		h.hold = after
		if code == "stopping" {
			h.hold, h.isStopping = time.Now().Add(forever), true
		}
		h.rewind()
	case isSent:
		h.giving.err = refusal
	case mine != nil && mine.id != 0 && mine.id == more.Ref && (code == "store" || code == "busy"):
		mine.id, mine.due = 0, after
	case mine != nil && mine.id != 0 && mine.id == more.Ref:
		mine.err = refusal
	case code != "store" && code != "stopping":
		fmt.Fprintln(os.Stderr, "the hub says:", refusal)
	}
	return nil
}

// earn adds the credit that a message gives.
func (h *Hub) earn(body object) error {
	if parse(body["credit"]) == nil {
		return nil
	}
	records, err := member[int64](body, "STORED.credit.records")
	if err != nil {
		return err
	}
	bytes, err := member[int64](body, "STORED.credit.bytes")
	h.records += records
	h.bytes += bytes
	return err
}

// rewind has all records without an answer sent again.
func (h *Hub) rewind() {
	for batch, span := range h.sent {
		if span.from < h.giving.next {
			h.giving.next = span.from
		}
		delete(h.sent, batch)
	}
}
