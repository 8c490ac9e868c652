package healthhub

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"
)

// open returns a Hub whose hub is away.
func open(t *testing.T) *Hub {
	t.Setenv("HUB_KEY", "")
	hub, err := Open(Options{Instance: "test", Door: "ipc:///nonexistent/door"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hub.Close() })
	return hub
}

func TestCallsEndWithTheirContextWhileTheHubIsAway(t *testing.T) {
	calls := map[string]func(context.Context, *Hub) error{
		"Give": func(ctx context.Context, hub *Hub) error {
			_, err := hub.Give(ctx, Object{"type": "weight"})
			return err
		},
		"Live": func(ctx context.Context, hub *Hub) error {
			_, err := hub.Live(ctx, Object{"type": "weight"})
			return err
		},
		"Token":   func(ctx context.Context, hub *Hub) error { _, err := hub.Token(ctx, Object{"for": "use"}); return err },
		"Welcome": func(ctx context.Context, hub *Hub) error { _, err := hub.Welcome(ctx); return err },
		"Serve":   func(ctx context.Context, hub *Hub) error { return hub.Serve(ctx) },
		"Follow": func(ctx context.Context, hub *Hub) error {
			return hub.Follow(ctx, nil, "", func(json.RawMessage, string) error { return nil })
		},
		"Records": func(ctx context.Context, hub *Hub) error {
			return hub.Records(ctx, Object{}, func(json.RawMessage) error { return nil })
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			hub := open(t)
			for n := 0; n < 2; n++ {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
				if err := call(ctx, hub); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the call returned %v", err)
				}
				if err := call(ctx, hub); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a call whose context is over returned %v", err)
				}
				cancel()
			}
		})
	}
}

func TestInvalidRecordsAreNamed(t *testing.T) {
	hub := open(t)
	for _, record := range []any{Object{"value": math.NaN()}, []any{Object{}}, json.RawMessage(`{"a":`), nil} {
		_, err := hub.Give(context.Background(), Object{}, record)
		var refusal *Error
		if !errors.As(err, &refusal) || refusal.Code != "json" || refusal.Reason[:10] != "records[1]" {
			t.Errorf("Give of %v returned %v", record, err)
		}
	}
}

func TestCallsOfAClosedHubReturnAnError(t *testing.T) {
	hub := open(t)
	hub.Close()
	_, err := hub.Give(context.Background(), Object{})
	if refusal(err, "closed") == nil {
		t.Errorf("Give returned %v", err)
	}
	if err := hub.Close(); err != nil {
		t.Errorf("a second Close returned %v", err)
	}
}

func TestOpenNamesWhatIsMissing(t *testing.T) {
	for _, name := range []string{"HUB_KEY", "HUB_DOOR", "HUB_INSTANCE"} {
		t.Setenv(name, "")
	}
	for code, options := range map[string]Options{
		"instance": {Door: "ipc:///tmp/door"}, "door": {Instance: "test"}, "key": {Key: "/nonexistent"},
		"socket": {Instance: "test", Door: "nowhere"}, "json": {Instance: "test", Door: "ipc:///tmp/door", Members: Object{"x": math.Inf(1)}},
	} {
		if _, err := Open(options); refusal(err, code) == nil {
			t.Errorf("%s: Open returned %v", code, err)
		}
	}
}
