// Records numbered events: example URL COUNT [EVENTS PER SECOND], with the key in AUDITLOG_API_KEY.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"auditlog"
)

type event struct {
	Time    time.Time `json:"time"`
	Message message   `json:"message"`
}

type message struct {
	Action int            `json:"action"`
	Extra  map[string]int `json:"extra"`
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "example URL COUNT [EVENTS PER SECOND]")
		os.Exit(2)
	}
	count, err := strconv.Atoi(os.Args[2])
	check(err)
	var pause time.Duration
	if len(os.Args) > 3 {
		rate, err := strconv.Atoi(os.Args[3])
		check(err)
		pause = time.Second / time.Duration(rate)
	}
	audit, err := auditlog.New(auditlog.Options{
		URL:    os.Args[1],
		APIKey: os.Getenv("AUDITLOG_API_KEY"),
		OnError: func(err *auditlog.Error, events int) {
			fmt.Fprintf(os.Stderr, "%d events lost: %v\n", events, err)
		},
	})
	check(err)
	for n := 0; n < count; n++ {
		audit.Record(event{time.Now().UTC(), message{1001, map[string]int{"n": n}}})
		if n == count/2 {
			fmt.Println("half")
		}
		time.Sleep(pause)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	report := audit.Close(ctx)
	check(json.NewEncoder(os.Stdout).Encode(report))
	if !report.Complete() {
		os.Exit(1)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
