package healthhub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Objection is a fault of a plugin's settings (Protocol §13.4); Setting is empty if it is not about a single one.
type Objection struct {
	Setting string `json:"setting,omitempty"`
	Reason  string `json:"reason"`
}

// Exit is the error that the run of a plugin returns to choose its exit code (Protocol §13.5), such as 69 if it cannot reach
// its device or service. To give the reason too, wrap it: fmt.Errorf("no scale at %s: %w", address, healthhub.Exit(69)).
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Plugin is the main function of a program that the hub starts (Protocol §13); it returns the exit code, for os.Exit.
// manifest is a JSON object (§13.3). run is called with a Hub that has a session; Plugin prints its error on stderr.
// objections returns the faults of settings, a JSON object; nil if the manifest's declarations are sufficient.
func Plugin(manifest string, run func(hub *Hub) error, objections func(settings json.RawMessage) []Objection) int {
	err := plugin(manifest, run, objections)
	if err == nil || refusal(err, "stopping") != nil {
		return 0
	}
	code, isBare := err.(Exit)
	if !isBare {
		fmt.Fprintln(os.Stderr, err)
	}
	var refusal *Error
	switch {
	case errors.As(err, &code):
		return int(code)
	case !errors.As(err, &refusal):
		return 1
	case refusal.Code == "protocol":
		return 76
	}
	return 77
}

func plugin(manifest string, run func(*Hub) error, objections func(json.RawMessage) []Objection) error {
	members, err := toObject(json.RawMessage(manifest), "the manifest")
	if err != nil {
		return err
	}
	var about struct{ Name, Version string }
	if err := json.Unmarshal([]byte(manifest), &about); err != nil {
		return &Error{Code: "json", Reason: "the manifest: " + err.Error()}
	}
	argument := ""
	if len(os.Args) == 2 {
		argument = os.Args[1]
	}
	switch argument {
	case "--describe":
		return print(members)
	case "--check-settings":
		settings, err := io.ReadAll(os.Stdin)
		if err != nil {
			return err
		}
		found := []Objection{}
		if objections != nil {
			found = append(found, objections(settings)...)
		}
		return print(Object{"objections": found})
	case "--run":
	default:
		return fmt.Errorf("%s: the hub starts it with --run; --describe prints its manifest: %w", about.Name, Exit(64))
	}
	// Byte by byte, because the program later waits for the end of stdin.
	token, one := "", make([]byte, 1)
	for one[0] != '\n' {
		if _, err := os.Stdin.Read(one); err != nil || len(token) > 256 {
			return fmt.Errorf("the hub sent no launch token: %w", Exit(75))
		}
		token += string(one)
	}
	options := Options{Plugin: about.Name, Version: about.Version, Members: Object{}, token: token[:len(token)-1]}
	for _, name := range []string{"reads", "writes", "declares"} {
		if members[name] != nil {
			options.Members[name] = members[name]
		}
	}
	hub, err := Open(options)
	if err != nil {
		return err
	}
	defer hub.Close()
	if _, err := hub.Welcome(context.Background()); err != nil {
		return err
	}
	return run(hub)
}

func print(value any) error {
	text, err := encode(value, "the answer")
	if err == nil {
		_, err = fmt.Printf("%s\n", text)
	}
	return err
}
