package auditlog

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sort"
	"sync"
	"testing"
	"time"
)

// service stores each batch once by its key. faults answer first, one a request; true: the batch was answered.
type service struct {
	t        *testing.T
	server   *httptest.Server
	lock     sync.Mutex
	stored   []int
	keys     map[string]string
	requests []string
	faults   []fault
}

type fault func(w http.ResponseWriter, numbers []int) bool

type numbered struct {
	N    int    `json:"n"`
	Text string `json:"text,omitempty"`
}

func newService(t *testing.T, faults ...fault) *service {
	s := &service{t: t, keys: map[string]string{}, faults: faults}
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		reader, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			s.t.Error(err)
			return
		}
		body, _ = io.ReadAll(reader)
	}
	if r.URL.RequestURI() != "/api/v1/audit?maxErrors=10000" || r.Header.Get("X-API-Key") != "ak_test" ||
		r.Header.Get("Content-Type") != "application/x-ndjson" {
		s.t.Errorf("%s %v", r.URL.Path, r.Header)
	}
	var numbers []int
	for _, text := range bytes.Split(body, []byte("\n")) {
		var event numbered
		if err := json.Unmarshal(text, &event); err != nil {
			s.t.Error(err)
		}
		numbers = append(numbers, event.N)
	}
	key := r.Header.Get("Idempotency-Key")
	s.lock.Lock()
	s.requests = append(s.requests, key+string(body))
	var first fault
	if len(s.faults) > 0 {
		first, s.faults = s.faults[0], s.faults[1:]
	}
	s.lock.Unlock()
	if first != nil && first(w, numbers) {
		return
	}
	s.store(key, string(body), numbers)
	reply(w, 202, fmt.Sprintf(`{"accepted":%d,"rejected":0,"errors":[]}`, len(numbers)))
}

func (s *service) store(key, body string, numbers []int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	before, isKnown := s.keys[key]
	if isKnown && before != body {
		s.t.Error("a key with another body")
	}
	if !isKnown {
		s.keys[key] = body
		s.stored = append(s.stored, numbers...)
	}
}

func reply(w http.ResponseWriter, status int, body string) bool {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
	return true
}

func cut(http.ResponseWriter, []int) bool {
	panic(http.ErrAbortHandler)
}

func status(code int) fault {
	return func(w http.ResponseWriter, _ []int) bool { return reply(w, code, "{}") }
}

func answering(code int, body string) fault {
	return func(w http.ResponseWriter, _ []int) bool { return reply(w, code, body) }
}

type told struct {
	lock       sync.Mutex
	errors     []string
	rejections []string
}

func newClient(t *testing.T, s *service, change func(o *Options)) (*Client, *told) {
	heard := &told{}
	options := Options{
		URL: s.server.URL, APIKey: "ak_test", RetryDelayMin: time.Millisecond, RetryDelayMax: 10 * time.Millisecond,
		OnError: func(err *Error, events int) {
			heard.lock.Lock()
			defer heard.lock.Unlock()
			heard.errors = append(heard.errors, fmt.Sprint(err.Code, err.Status, " ", events))
		},
		OnRejected: func(rejections []Rejection) {
			for _, one := range rejections {
				heard.rejections = append(heard.rejections, string(one.Event)+one.Error)
			}
		},
	}
	if change != nil {
		change(&options)
	}
	c, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(ended()) })
	return c, heard
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func upToN(count int) (numbers []int) {
	for n := 0; n < count; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

func TestSendsBatchesInOrder(t *testing.T) {
	s := newService(t)
	c, _ := newClient(t, s, func(o *Options) { o.BatchEvents = 100 })
	for n := 0; n < 250; n++ {
		equal(t, c.Record(numbered{n, "é\n<"}), true)
	}
	equal(t, c.Flush(soon(t)), Report{Acknowledged: 250})
	equal(t, s.stored, upToN(250))
	equal(t, c.Close(soon(t)), Report{})
}

func TestSendsAfterTheDelayAndByBytes(t *testing.T) {
	s := newService(t)
	c, _ := newClient(t, s, func(o *Options) { o.BatchDelay, o.BatchBytes = 20*time.Millisecond, 200 })
	c.Record(numbered{N: 1})
	for c.Counts().Pending > 0 {
		time.Sleep(5 * time.Millisecond)
	}
	equal(t, s.stored, []int{1})
	for n := 0; n < 10; n++ {
		c.Record(numbered{n, string(make([]byte, 20))})
	}
	equal(t, c.Flush(soon(t)).Complete(), true)
	if len(s.requests) < 6 {
		t.Fatal(len(s.requests))
	}
}

func TestRepeatsWithTheSameKeyAndBytes(t *testing.T) {
	s := newService(t, cut, status(503), status(500), status(429), answering(200, "no JSON"),
		answering(202, `{"accepted":1}`))
	c, _ := newClient(t, s, nil)
	for n := 0; n < 3; n++ {
		c.Record(numbered{N: n})
	}
	equal(t, c.Flush(soon(t)).Complete(), true)
	equal(t, s.stored, upToN(3))
	equal(t, len(s.requests), 7)
	for _, request := range s.requests {
		equal(t, request, s.requests[0])
	}
}

func TestALostAnswerStoresNothingTwice(t *testing.T) {
	s := newService(t)
	s.faults = []fault{func(_ http.ResponseWriter, numbers []int) bool {
		request := s.requests[0]
		s.store(request[:32], request[32:], numbers)
		panic(http.ErrAbortHandler)
	}}
	c, _ := newClient(t, s, nil)
	c.Record(numbered{N: 7})
	equal(t, c.Flush(soon(t)), Report{Acknowledged: 1})
	equal(t, s.stored, []int{7})
}

func TestWaitsAsLongAsTheServiceSays(t *testing.T) {
	s := newService(t, func(w http.ResponseWriter, _ []int) bool {
		w.Header().Set("Retry-After", "1")
		return reply(w, 503, "")
	})
	c, _ := newClient(t, s, nil)
	begun := time.Now()
	c.Record(numbered{N: 1})
	equal(t, c.Flush(soon(t)).Complete(), true)
	if time.Since(begun) < time.Second {
		t.Fatal(time.Since(begun))
	}
}

func TestTellsWhatWasRefused(t *testing.T) {
	errors := `"errors":[{"index":1,"error":" is bad"}]}`
	s := newService(t, answering(202, `{"accepted":1,"rejected":1,`+errors),
		answering(400, `{"accepted":0,"rejected":2,`+errors), status(401))
	c, heard := newClient(t, s, func(o *Options) { o.BatchEvents = 2 })
	for n := 0; n < 6; n++ {
		c.Record(numbered{N: n})
	}
	equal(t, c.Flush(soon(t)), Report{Acknowledged: 1, Rejected: 3, Failed: 2})
	equal(t, heard.rejections, []string{`{"n":1} is bad`, `{"n":2}`, `{"n":3} is bad`})
	equal(t, heard.errors, []string{"http401 2"})
}

func TestDividesWhatIsTooLarge(t *testing.T) {
	var tooLarge []fault
	for len(tooLarge) < 20 {
		tooLarge = append(tooLarge, func(w http.ResponseWriter, numbers []int) bool {
			return len(numbers) > 1 && reply(w, 413, "{}")
		})
	}
	s := newService(t, tooLarge...)
	c, _ := newClient(t, s, nil)
	for n := 0; n < 5; n++ {
		c.Record(numbered{N: n})
	}
	equal(t, c.Flush(soon(t)).Complete(), true)
	sort.Ints(s.stored)
	equal(t, s.stored, upToN(5))
}

func TestHoldsNoMoreThanItsQueue(t *testing.T) {
	held := make(chan struct{})
	s := newService(t, func(http.ResponseWriter, []int) bool { <-held; return false })
	c, heard := newClient(t, s, func(o *Options) { o.QueueEvents, o.BatchEvents = 10, 5 })
	for n := 0; n < 12; n++ {
		equal(t, c.Record(numbered{N: n}), n < 10)
	}
	close(held)
	equal(t, c.Flush(soon(t)), Report{Acknowledged: 10, Dropped: 2})
	equal(t, heard.errors, []string{"queue_full0 1", "queue_full0 1"})
}

func TestGivesUpAfterItsTime(t *testing.T) {
	var busy []fault
	for len(busy) < 1000 {
		busy = append(busy, status(503))
	}
	c, heard := newClient(t, newService(t, busy...), func(o *Options) { o.GiveUpAfter = 50 * time.Millisecond })
	c.Record(numbered{N: 1})
	equal(t, c.Flush(soon(t)), Report{Failed: 1})
	equal(t, heard.errors, []string{"http503 1"})
}

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("an event that panics") }

func TestNeverPanics(t *testing.T) {
	s := newService(t, status(503))
	panicked := 0
	c, _ := newClient(t, s, func(o *Options) {
		o.OnError = func(*Error, int) { panic("a handler that panics") }
		o.OnRetry = func(*Error, int, time.Duration) { panic("another") }
		o.OnPanic = func(any) { panicked++; panic("the last one") }
	})
	for _, event := range []any{panics{}, make(chan int), []int{}, nil, "x", 5} {
		equal(t, c.Record(event), false)
	}
	c.Record(numbered{N: 1})
	equal(t, c.Close(soon(t)), Report{Acknowledged: 1, Dropped: 6})
	equal(t, c.Record(numbered{N: 2}), false)
	equal(t, panicked, 8)
}

func TestCloseKeepsItsTime(t *testing.T) {
	s := newService(t, func(w http.ResponseWriter, _ []int) bool {
		w.Header().Set("Retry-After", "60")
		return reply(w, 503, "")
	})
	c, _ := newClient(t, s, func(o *Options) { o.BatchEvents = 2 })
	for n := 0; n < 3; n++ {
		c.Record(numbered{N: n})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	equal(t, c.Close(ctx), Report{Pending: 3})
}

func TestRefusesOptionsThatCannotWork(t *testing.T) {
	for _, options := range []Options{
		{URL: "ftp://x", APIKey: "k"},
		{URL: "http://a:b@x", APIKey: "k"},
		{URL: "http://x", APIKey: "a b"},
		{URL: "http://x", APIKey: "k", BatchEvents: -1},
		{URL: "http://x", APIKey: "k", GiveUpAfter: 24 * time.Hour},
	} {
		if _, err := New(options); err == nil {
			t.Fatal(options)
		}
	}
}
