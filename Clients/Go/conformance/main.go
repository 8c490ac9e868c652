// The program that Tests/SystemTests/Interop/Programs/clients.py runs with this client library: give, follow, sink, query,
// calls, or a launched plugin.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"healthhub"
)

const manifest = `{"name": "conformance-go", "summary": "Gives weights when it is asked to.", "version": "1.0", "protocol": [1],
	"writes": ["weight"], "checksSettings": true,
	"settings": [{"name": "label", "type": "string", "required": true, "help": "Begins the key of each record."}],
	"commands": [{"name": "add", "help": "Gives weights.", "args": [
		{"name": "count", "type": "integer", "minimum": 1, "maximum": 1000000, "required": true, "help": "How many."}]}]}`

var (
	ctx    = context.Background()
	output = bufio.NewWriter(os.Stdout)
)

func run(hub *healthhub.Hub) error {
	welcome, err := hub.Welcome(ctx)
	if err != nil {
		return err
	}
	var own struct{ Settings struct{ Label string } }
	if err := json.Unmarshal(welcome, &own); err != nil {
		return err
	}
	if own.Settings.Label == "gone" {
		return healthhub.Exit(69)
	}
	hub.Command("add", func(ctx context.Context, command *healthhub.Command) (any, error) {
		var args struct{ Count int }
		if err := json.Unmarshal(command.Args, &args); err != nil {
			return nil, err
		}
		var records []any
		for n := 0; n < args.Count; n++ {
			records = append(records, healthhub.Object{"type": "weight", "value": 60 + float64(n%100)/8, "unit": "kg",
				"start": "2026-01-05T06:00:00+01:00", "key": fmt.Sprintf("%s-%d", own.Settings.Label, n)})
		}
		hub.Progress(command, 0, float64(args.Count), "")
		results, err := hub.Give(ctx, records...)
		stored := 0
		for _, result := range results {
			if result.Result == "stored" {
				stored++
			}
		}
		return healthhub.Object{"stored": stored}, err
	})
	if err := hub.Serve(ctx); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "stopped")
	return nil
}

func objections(settings json.RawMessage) []healthhub.Objection {
	var own struct{ Label string }
	if err := json.Unmarshal(settings, &own); err != nil {
		return []healthhub.Objection{{Reason: err.Error()}}
	}
	if own.Label == "bad" {
		return []healthhub.Objection{{Setting: "label", Reason: "the label is not to be bad"}}
	}
	return nil
}

func say(value any) error { return json.NewEncoder(output).Encode(value) }

func sayNow(value any) error {
	if err := say(value); err != nil {
		return err
	}
	return output.Flush()
}

func give(hub *healthhub.Hub, count int) error {
	input := bufio.NewReader(os.Stdin)
	for hasMore := true; hasMore; {
		var given []any
		for hasMore && len(given) < count {
			line, err := input.ReadBytes('\n')
			if err != nil && err != io.EOF {
				return err
			}
			if hasMore = err == nil; len(line) > 0 {
				given = append(given, json.RawMessage(line))
			}
		}
		results, err := hub.Give(ctx, given...)
		if err != nil {
			return err
		}
		for n, result := range results {
			var record struct{ Key string }
			if err := json.Unmarshal(given[n].(json.RawMessage), &record); err != nil {
				return err
			}
			line := struct {
				Key string `json:"key"`
				healthhub.Result
			}{record.Key, result}
			if err := say(line); err != nil {
				return err
			}
		}
		if err := output.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func sink(hub *healthhub.Hub, kind, pause string) error {
	want := healthhub.Object{"want": "all", "types": []string{kind}, "start": "beginning"}
	err := hub.Sink(want, func(ctx context.Context, records []json.RawMessage) ([]healthhub.Answer, error) {
		if pause != "" {
			seconds, err := time.ParseDuration(pause + "s")
			if err != nil {
				return nil, err
			}
			if err := sayNow(healthhub.Object{"paused": len(records)}); err != nil {
				return nil, err
			}
			return nil, &healthhub.Pause{For: seconds, Reason: "the target is away"}
		}
		var answers []healthhub.Answer
		for _, record := range records {
			var one struct{ Number int64 }
			if err := json.Unmarshal(record, &one); err != nil {
				return nil, err
			}
			if err := say(healthhub.Object{"record": record}); err != nil {
				return nil, err
			}
			answers = append(answers, healthhub.Answer{Result: "delivered", Receipt: fmt.Sprint("line ", one.Number)})
		}
		return answers, output.Flush()
	})
	if err != nil {
		return err
	}
	return hub.Serve(ctx)
}

func call(hub *healthhub.Hub, name string, body json.RawMessage) (any, error) {
	switch name {
	case "live":
		return hub.Live(ctx, body)
	case "event":
		return hub.Event(ctx, body)
	case "token":
		return hub.Token(ctx, body)
	case "putToken":
		return hub.PutToken(ctx, body)
	}
	return nil, fmt.Errorf("there is no call %s", name)
}

func calls(hub *healthhub.Hub, list string) error {
	var asked [][2]json.RawMessage
	if err := json.Unmarshal([]byte(list), &asked); err != nil {
		return err
	}
	for _, one := range asked {
		answer, err := call(hub, strings.Trim(string(one[0]), `"`), one[1])
		line := healthhub.Object{"answer": answer}
		var refusal *healthhub.Error
		if errors.As(err, &refusal) {
			line = healthhub.Object{"error": refusal.Code}
		} else if err != nil {
			return err
		}
		if err := sayNow(line); err != nil {
			return err
		}
	}
	return nil
}

func play(what, argument, place string) error {
	hub, err := healthhub.Open(healthhub.Options{})
	if err != nil {
		return err
	}
	defer hub.Close()
	switch what {
	case "give":
		count, err := strconv.Atoi(argument)
		if err != nil {
			return err
		}
		return give(hub, count)
	case "follow":
		return hub.Follow(ctx, []string{argument}, place, func(record json.RawMessage, place string) error {
			return sayNow(healthhub.Object{"place": place, "record": record})
		})
	case "sink":
		return sink(hub, argument, place)
	case "query":
		var question healthhub.Object
		if err := json.Unmarshal([]byte(argument), &question); err != nil {
			return err
		}
		ask := hub.Records
		if question["want"] == "statistics" {
			ask = hub.Statistics
		}
		if err := ask(ctx, question, func(answer json.RawMessage) error { return say(answer) }); err != nil {
			return err
		}
		return output.Flush()
	case "calls":
		return calls(hub, argument)
	}
	return fmt.Errorf("there is no play %s", what)
}

func main() {
	arguments := append(os.Args[1:], "", "", "")
	if strings.HasPrefix(arguments[0], "--") {
		os.Exit(healthhub.Plugin(manifest, run, objections))
	}
	err := play(arguments[0], arguments[1], arguments[2])
	var refusal *healthhub.Error
	switch {
	case err == nil:
		return
	case !errors.As(err, &refusal):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	case refusal.Code == "protocol":
		fmt.Fprintln(os.Stderr, err)
		os.Exit(76)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(77)
}
