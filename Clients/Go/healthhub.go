// Package healthhub is a client of the health hub: give records, follow, take deliveries, ask, answer commands, be a plugin.
//
// It needs cgo and libzmq 4.3 (Debian: gcc, libzmq3-dev), and no Go module. A record or another body that you give is any
// value that encoding/json turns into an object with the members of Docs/Samples.md or Docs/Protocol.md: an Object, your
// own struct, or a json.RawMessage. Messages of the hub are json.RawMessage; numbers in them keep their digits until you
// decode them.
//
// Calls wait until the hub has answered, however long it is away, or until their context is done; then they return the
// context's error. A refusal of the hub is an *Error. Nothing is kept on disk: if a call returned an error, give its
// records again, which is harmless. One goroutine uses a Hub at a time.
package healthhub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// Object is a JSON object, such as a record.
type Object = map[string]any

// Error is a refusal by the hub, or an invalid answer of it.
type Error struct {
	Code   string          // the hub's (Protocol §9.1), or `protocol` if its answer was invalid
	Reason string          // a sentence for people
	Body   json.RawMessage // the whole ERROR, nil if there was none
}

func (e *Error) Error() string { return e.Code + ": " + e.Reason }

// Pause is the error that the function of a sink returns if its target is away: the hub pauses the subscription for this
// time (100 ms to a week). Then all records of the delivery come again.
type Pause struct {
	For    time.Duration
	Reason string // "the target is away" if it is empty
}

func (p *Pause) Error() string { return p.Reason }

// Result is the hub's answer to one record. Its member Result is `stored` or `duplicate`, with Number and Seq, or
// `rejected`, with Code (Protocol §9.2) and Reason.
type Result struct {
	Result string `json:"result"`
	Number int64  `json:"number,omitempty"`
	Seq    int64  `json:"seq,omitempty"`
	Code   string `json:"code,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Answer is a sink's answer to one record (Protocol §10.2). Its member Result is `delivered`, with the target's name for the
// record as Receipt, or `retry`, with After and Reason, or `refused` or `auth`, with Reason. Receipt and Reason must hold no health value or secret.
type Answer struct {
	Result  string
	Receipt string
	After   time.Duration
	Reason  string
}

// MarshalJSON returns the form that the hub reads, with After in milliseconds.
func (a Answer) MarshalJSON() ([]byte, error) {
	return encode(struct {
		Result  string `json:"result"`
		Receipt string `json:"receipt,omitempty"`
		After   int64  `json:"after,omitempty"`
		Reason  string `json:"reason,omitempty"`
	}{a.Result, a.Receipt, a.After.Milliseconds(), a.Reason}, "an answer")
}

// Command is a command from a person to a plugin.
type Command struct {
	Name   string
	Args   json.RawMessage // an object that obeys the manifest
	DryRun bool            // change nothing, describe the changes

	id, session int64
	isCancelled bool
	cancel      context.CancelFunc
}

// Options are the hub's address and the program's identity. Empty members come from the key file; without one, from
// HUB_DOOR, HUB_FEED and HUB_INSTANCE (`hub status --env`).
type Options struct {
	Instance string
	Plugin   string // the source of all records; the default is the instance
	Version  string // the program's own; the default is 1.0
	Door     string
	Feed     string
	Key      string // the path of a key file (`hub keys new`); without Door the default is HUB_KEY
	Members  Object // more members of HELLO, such as `writes`

	token string
}

// Hub is a session with the hub, through its restarts.
type Hub struct {
	sockets                 *sockets // nil after Close
	proof                   proof
	instance, address, feed string
	session, epoch          string
	hello                   []byte
	welcome                 json.RawMessage
	failure                 error // why it is over

	isLaunched, hasInput, isOpen, isStopping, isOver bool
	greeted, heard, pinged, hold                     time.Time
	interval, timeout                                time.Duration // of the heartbeat
	batchRecords, frameBytes                         int64         // limits
	records, bytes                                   int64         // credit
	number                                           int64         // the last batch or question: `ref` of an ERROR is either's
	sessions                                         int64         // how many there were

	giving   *giving
	question *question
	sent     map[int64]span
	inbox    []item
	wants    map[string][]byte
	again    map[string]time.Time // when a WANT is due that the store refused
	pauses   map[string]paused
	commands map[int64]*Command
	deliver  map[string]deliver
	carry    map[string]carry
}

// Open returns a Hub without waiting for the hub. It fails if there is no address, or the key file is invalid.
func Open(options Options) (*Hub, error) {
	path := options.Key
	if path == "" && options.Door == "" && options.token == "" {
		path = os.Getenv("HUB_KEY")
	}
	var key struct{ ServerKey, PublicKey, SecretKey, Door, Feed, Instance string }
	var proof proof
	if path != "" {
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &key)
		}
		if err == nil && (key.ServerKey == "" || key.PublicKey == "" || key.SecretKey == "") {
			err = errors.New(path + " lacks serverKey, publicKey or secretKey")
		}
		if err != nil {
			return nil, &Error{Code: "key", Reason: err.Error() + ": hub keys new NAME makes a key file"}
		}
		proof = proofByKey(key.ServerKey, key.PublicKey, key.SecretKey)
	}
	instance := first(options.Instance, key.Instance, os.Getenv("HUB_INSTANCE"))
	door := first(options.Door, key.Door, os.Getenv("HUB_DOOR"))
	feed := first(options.Feed, key.Feed)
	if path == "" {
		feed = first(options.Feed, os.Getenv("HUB_FEED"))
	}
	if instance == "" {
		return nil, &Error{Code: "instance", Reason: "no instance: give one, or set HUB_INSTANCE"}
	}
	if door == "" {
		return nil, &Error{Code: "door", Reason: `no door: eval "$(hub status --env)" sets HUB_DOOR, and HUB_KEY names a key file`}
	}
	if options.token != "" {
		proof = proofByToken(instance, options.token)
	}
	hello := Object{"protocol": []int{1}, "instance": instance, "plugin": first(options.Plugin, instance),
		"version": first(options.Version, "1.0")}
	for name, value := range options.Members {
		hello[name] = value
	}
	text, err := encode(hello, "HELLO")
	if err != nil {
		return nil, err
	}
	sockets, err := openSockets(door, proof)
	if err != nil {
		return nil, err
	}
	return &Hub{
		sockets: sockets, proof: proof, instance: instance, address: door, feed: feed, hello: text,
		isLaunched: options.token != "", hasInput: options.token != "",
		sent: map[int64]span{}, wants: map[string][]byte{}, again: map[string]time.Time{}, pauses: map[string]paused{},
		commands: map[int64]*Command{}, deliver: map[string]deliver{}, carry: map[string]carry{},
	}, nil
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// Close says BYE and ends.
func (h *Hub) Close() error {
	if h.sockets == nil {
		return nil
	}
	if h.isOpen {
		h.say("BYE", struct{}{})
	}
	for till := time.Now().Add(time.Second); h.isOpen && time.Now().Before(till); {
		h.turn(50*time.Millisecond, nil)
	}
	h.fail(&Error{Code: "closed", Reason: "this Hub is closed"})
	h.sockets.close()
	h.sockets = nil
	return nil
}

// Welcome returns the hub's WELCOME (Protocol §4.2), with `settings` and `epoch`. It waits for the first.
func (h *Hub) Welcome(ctx context.Context) (json.RawMessage, error) {
	err := h.await(ctx, func() bool { return h.welcome != nil })
	return h.welcome, err
}

// IsStopping returns whether the hub has asked this program to end.
func (h *Hub) IsStopping() bool { return h.isLaunched && (h.isStopping || !h.hasInput) }

// Give returns when the hub has the records on its disk, with a result for each, in their order. The records of a group must be
// adjacent.
func (h *Hub) Give(ctx context.Context, records ...any) ([]Result, error) {
	return h.give(ctx, records, false)
}

// Backfill is Give for history, which the hub does not publish record by record (Protocol §5.1).
func (h *Hub) Backfill(ctx context.Context, records ...any) ([]Result, error) {
	return h.give(ctx, records, true)
}

func (h *Hub) give(ctx context.Context, records []any, isBackfill bool) ([]Result, error) {
	mine := &giving{isBackfill: isBackfill}
	for n, record := range records {
		where := fmt.Sprintf("records[%d]", n)
		text, err := encode(record, where)
		if err != nil {
			return nil, err
		}
		var one struct {
			Group json.RawMessage `json:"group"`
		}
		if text[0] != '{' || json.Unmarshal(text, &one) != nil {
			return nil, &Error{Code: "json", Reason: where + " is not a JSON object"}
		}
		if string(one.Group) == "null" {
			one.Group = nil
		}
		mine.texts, mine.groups = append(mine.texts, text), append(mine.groups, string(one.Group))
	}
	h.giving = mine
	defer func() { h.giving, h.sent = nil, map[int64]span{} }()
	if err := h.await(ctx, func() bool { return mine.err != nil || len(mine.results) == len(mine.texts) }); err != nil {
		return nil, err
	}
	if mine.err != nil {
		return nil, mine.err
	}
	return mine.results, nil
}

// Live publishes a live value, the body of LIVE (Protocol §5.2). It has no answer and is not kept: after the first session, for
// which the call waits, it returns false if the hub is away.
func (h *Hub) Live(ctx context.Context, body any) (bool, error) { return h.tell(ctx, "LIVE", body) }

// Event publishes an event, the body of EVENT (Protocol §5.2), such as {"event":"disconnected"}; otherwise as Live.
func (h *Hub) Event(ctx context.Context, body any) (bool, error) { return h.tell(ctx, "EVENT", body) }

func (h *Hub) tell(ctx context.Context, verb string, body any) (bool, error) {
	members, err := toObject(body, verb)
	if err == nil {
		_, err = h.Welcome(ctx)
	}
	if err != nil || !h.isOpen {
		return false, err
	}
	h.say(verb, members)
	return h.isOpen, nil
}

// Token returns the hub's answer to TOKEN (Protocol §11): {"account":"me","for":"use"}, `refresh` or `release`.
func (h *Hub) Token(ctx context.Context, body any) (json.RawMessage, error) {
	return h.ask(ctx, "TOKEN", body)
}

// PutToken returns when the hub has the token on its disk: {"account":"me","expect":3,"token":{…}}. An Error `field`: it has
// another version than `expect`. `lost`: the session ended before the answer, Token has the result, as after an error of the context.
func (h *Hub) PutToken(ctx context.Context, body any) (json.RawMessage, error) {
	return h.ask(ctx, "TOKEN-PUT", body)
}

// Ask returns one RESULT, a page, of QUERY with these members (Protocol §8.1).
func (h *Hub) Ask(ctx context.Context, question any) (json.RawMessage, error) {
	return h.ask(ctx, "QUERY", question)
}

func (h *Hub) ask(ctx context.Context, verb string, body any) (json.RawMessage, error) {
	members, err := toObject(body, verb)
	if err != nil {
		return nil, err
	}
	mine := &question{verb: verb, body: members}
	h.question = mine
	defer func() { h.question = nil }()
	if err := h.await(ctx, func() bool { return mine.answer != nil || mine.err != nil }); err != nil {
		return nil, err
	}
	return mine.answer, mine.err
}

// Records calls take with each record of a question (Protocol §8.1), over all its pages. An error of take ends it.
func (h *Hub) Records(ctx context.Context, question any, take func(record json.RawMessage) error) error {
	return h.pages(ctx, question, "records", "RESULT.records", take)
}

// Statistics calls take with each interval of statistics (Protocol §8.4), over all pages of a question. An error of take ends
// it.
func (h *Hub) Statistics(ctx context.Context, question any, take func(interval json.RawMessage) error) error {
	return h.pages(ctx, question, "statistics", "RESULT.statistics.intervals", take)
}

func (h *Hub) pages(ctx context.Context, question any, want, path string, take func(json.RawMessage) error) error {
	members, err := toObject(question, "QUERY")
	if err != nil {
		return err
	}
	members["want"] = json.RawMessage(`"` + want + `"`)
	for {
		answer, err := h.Ask(ctx, members)
		if err != nil {
			return err
		}
		page := parse(answer)
		list, err := member[[]json.RawMessage](page, path)
		if err != nil {
			return err
		}
		for _, one := range list {
			if err := take(one); err != nil {
				return err
			}
		}
		if want == "statistics" {
			page = parse(page[want])
		}
		if page["next"] == nil {
			return nil
		}
		members["next"] = page["next"]
	}
}

// Follow calls take with the newest version of each record since place (empty: from the first) and with new versions, each
// once, and with the place to continue from: keep it with the results, in one transaction. A record replaces the one that
// you have under its `number`; one of the kind `retraction` withdraws it. If the record is nil, delete all records: the hub
// has a new epoch, whose records follow. The feed only wakes the client; records come from the door, each once. types are
// ids, nil for all. Follow returns the error of take or of the context, or nil when the hub stops this plugin.
func (h *Hub) Follow(ctx context.Context, types []string, place string, take func(record json.RawMessage, place string) error) error {
	if _, err := h.Welcome(ctx); err != nil {
		return unlessStopping(err)
	}
	at, asked := first(place, h.epoch+"-0"), Object{"want": "records"}
	if types != nil {
		asked["types"] = types
	}
	limit := time.Second // without a feed
	var bell *socket
	if h.feed != "" {
		var err error
		if bell, err = h.sockets.openBell(h.feed, h.proof, topics(types)); err != nil {
			return err
		}
		defer h.sockets.closeBell(bell)
		limit = forever
	}
	defer h.watch(ctx)()
	for hasMore := true; !h.IsStopping(); {
		sessions := h.sessions
		if !hasMore {
			h.turn(limit, bell)
			if err := h.ended(ctx); err != nil {
				return err
			}
			hasMore = bell.hasNews(at) || bell == nil || sessions != h.sessions
			continue
		}
		asked["since"] = at
		answer, err := h.Ask(ctx, asked)
		if refusal := refusal(err, "epoch"); refusal != nil {
			epoch, err := member[string](parse(refusal.Body), "ERROR.epoch")
			if err != nil {
				return err
			}
			at = epoch + "-0"
			if err := take(nil, at); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return unlessStopping(err)
		}
		page := parse(answer)
		cursor, err := member[string](page, "RESULT.cursor")
		if err != nil {
			return err
		}
		records, err := member[[]json.RawMessage](page, "RESULT.records")
		if err != nil {
			return err
		}
		epoch, _, _ := strings.Cut(cursor, "-")
		for n, record := range records {
			sequence, err := member[int64](object{fmt.Sprintf("records[%d]", n): record}, fmt.Sprintf("RESULT.records[%d].seq", n))
			if err != nil {
				return err
			}
			at = fmt.Sprintf("%s-%d", epoch, sequence)
			if err := take(record, at); err != nil {
				return err
			}
		}
		at, hasMore = cursor, page["next"] != nil
	}
	return nil
}

// topics returns the topics of the feed that wake a follower of these types.
func topics(types []string) []string {
	topics := []string{"hub/pulse/"}
	for _, kind := range []string{"sample/", "retraction/"} {
		if types == nil {
			topics = append(topics, kind)
		}
		for _, name := range types {
			topics = append(topics, kind+name+"/")
		}
	}
	return topics
}

// hasNews reads the feed, and returns whether the hub has more than a follower at this place.
func (s *socket) hasNews(place string) bool {
	isNews := false
	for s != nil {
		frames := s.receive()
		if frames == nil {
			break
		}
		var pulse struct {
			Epoch string
			Head  int64
		}
		isPulse := len(frames) == 3 && string(frames[0]) == "hub/pulse/" && json.Unmarshal(frames[2], &pulse) == nil
		isNews = isNews || !isPulse || fmt.Sprintf("%s-%d", pulse.Epoch, pulse.Head) != place
	}
	return isNews
}

// Sink names a subscription that the hub remembers: want is the body of WANT (Protocol §10.1) and needs `want`, its name,
// and `start`. Serve calls deliver with the records of a delivery; deliver returns an Answer for each, or a *Pause to stop the
// deliveries for a while. An *Error ends Serve. After any other error all records of the delivery come again a minute later; the
// hub gets only the type of the error, because its text may hold a health value or a secret.
func (h *Hub) Sink(want any, deliver func(ctx context.Context, records []json.RawMessage) ([]Answer, error)) error {
	body, err := toObject(want, "WANT")
	if err != nil {
		return err
	}
	name, err := member[string](body, "WANT.want")
	if err != nil {
		return &Error{Code: "json", Reason: "the subscription has no name under `want`"}
	}
	if body["credit"] == nil {
		body["credit"] = json.RawMessage(`{"records":1000,"bytes":1048576}`)
	}
	text, err := encode(body, "WANT")
	if err != nil {
		return err
	}
	h.deliver[name], h.wants[name] = deliver, text
	if h.isOpen {
		h.send("WANT", text)
	}
	return nil
}

// Command names a command of the manifest. Serve calls carry when a person asks for the command; carry returns the result, which
// is encoded as JSON (nil: no result). An error is the command's failure: the person reads its text, or the Code and Reason
// of an *Error. If the person cancels the command, its context is done. The Hub notices that in each call, such as Progress.
func (h *Hub) Command(name string, carry func(ctx context.Context, command *Command) (any, error)) {
	h.carry[name] = carry
}

// Progress reports the progress of a command that is being carried out; a total of 0 and an empty text are left out.
func (h *Hub) Progress(command *Command, done, total float64, text string) {
	if h.isOpen && command.session == h.sessions && h.commands[command.id] != nil {
		h.say("PROGRESS", struct {
			ID    int64   `json:"id"`
			Done  float64 `json:"done"`
			Total float64 `json:"total,omitempty"`
			Text  string  `json:"text,omitempty"`
		}{command.id, done, total, text})
	}
	h.turn(0, nil)
}

// Serve delivers and carries out commands until the hub stops this plugin; then it returns nil. Otherwise it returns the
// context's error, or the refusal of the hub.
func (h *Hub) Serve(ctx context.Context) error {
	defer h.watch(ctx)()
	for !h.IsStopping() {
		if err := h.ended(ctx); err != nil {
			return err
		}
		if len(h.inbox) == 0 {
			h.turn(time.Hour, nil)
			continue
		}
		next := h.inbox[0]
		h.inbox = h.inbox[1:]
		if err := h.work(ctx, next); err != nil {
			return err
		}
		h.turn(0, nil)
	}
	return nil
}
