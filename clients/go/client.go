// Package auditlog records events in an audit log service. It needs nothing but the standard library.
//
// A Client holds a bounded queue and sends it in batches. A batch is repeated with the same bytes and the same
// idempotency key until it is answered, so a lost answer never stores an event twice.
package auditlog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Options of a Client. Zero values stand for the defaults.
type Options struct {
	// URL is the address of the service, such as https://audit.example; what follows the host is kept.
	URL string
	// APIKey has the scope write. It is sent as X-API-Key.
	APIKey string
	// Timeout of each request, from the connection to the last byte; 30 s.
	Timeout time.Duration
	// A batch is sent at this many events (500, at most 10,000), bytes (1 MiB), or so long after its first (200 ms).
	BatchEvents int
	BatchBytes  int
	BatchDelay  time.Duration
	// What may be held unsent and unacknowledged (10,000 events, 16 MiB); beyond it the newest are dropped.
	QueueEvents int
	QueueBytes  int
	// Pauses between attempts: drawn between nothing and a step that doubles from 200 ms to 2 s. The
	// largest is also how late a service that is back may be noticed.
	RetryDelayMin time.Duration
	RetryDelayMax time.Duration
	// GiveUpAfter is how long a batch is tried; 15 minutes, 23 hours at most.
	GiveUpAfter time.Duration
	// HTTPClient sends the requests; redirects are not followed, whatever it says of them.
	HTTPClient *http.Client
	// OnError is told of events that will not be stored, and how many: dropped, or given up with their batch.
	OnError func(err *Error, events int)
	// OnRejected is told of the events of a batch that the service refused for what is in them.
	OnRejected func(rejections []Rejection)
	// OnRetry is told of each attempt that failed and will be repeated.
	OnRetry func(err *Error, attempt int, delay time.Duration)
	// OnPanic is told when one of the functions above panics.
	OnPanic func(value any)
}

// Report says what became of events since the report before.
type Report struct {
	// Acknowledged events are stored, and on disk.
	Acknowledged int
	// Rejected events were refused by the service for what is in them.
	Rejected int
	// Failed events were given up with their batch.
	Failed int
	// Dropped events were never queued: the queue was full, the client closed, or the event no JSON object.
	Dropped int
	// Pending events are still queued, or were cut off by Close: these may have been stored or not.
	Pending int
}

// Complete tells whether every event has been stored.
func (r Report) Complete() bool {
	return r.Rejected+r.Failed+r.Dropped+r.Pending == 0
}

// Rejection is an event that the service refused, and why where it named it: it names up to 10,000 of a batch.
type Rejection struct {
	Event json.RawMessage
	Error string
}

// Client records events. All of its methods may be called from any goroutine.
type Client struct {
	options  Options
	endpoint string

	lock sync.Mutex
	// changed is closed and replaced whenever a waiting goroutine should look again.
	changed  chan struct{}
	queue    []line
	queued   int // bytes of the queue
	held     int // events, with those on their way
	heldSize int
	recorded int
	settled  int
	flushTo  int
	closed   bool
	counts   Report
	reported Report
	cutOff   int

	ending context.Context
	end    context.CancelFunc
	done   chan struct{}
}

type line struct {
	text []byte
	at   time.Time
}

const (
	giveUpMax      = 23 * time.Hour // the service remembers idempotency keys for 24 h
	batchEventsMax = 10_000
	settleMax      = time.Second
)

// New makes a client. It opens nothing by itself; the error names an option that cannot work.
func New(options Options) (*Client, error) {
	if err := complete(&options); err != nil {
		return nil, err
	}
	base, _ := url.Parse(options.URL)
	c := &Client{
		options:  options,
		endpoint: strings.TrimRight(base.Scheme+"://"+base.Host+base.EscapedPath(), "/") + "/api/v1/audit?maxErrors=10000",
		changed:  make(chan struct{}),
		done:     make(chan struct{}),
	}
	c.ending, c.end = context.WithCancel(context.Background())
	go c.run()
	return c, nil
}

func complete(o *Options) error {
	base, err := url.Parse(o.URL)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return fmt.Errorf("URL: must be an http(s) address")
	}
	if base.User != nil {
		return fmt.Errorf("URL: must not contain credentials")
	}
	if o.APIKey == "" || strings.IndexFunc(o.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
		return fmt.Errorf("APIKey: not a key")
	}
	duration := func(value *time.Duration, usual time.Duration) {
		if *value == 0 {
			*value = usual
		}
	}
	number := func(value *int, usual int) {
		if *value == 0 {
			*value = usual
		}
	}
	duration(&o.Timeout, 30*time.Second)
	duration(&o.BatchDelay, 200*time.Millisecond)
	duration(&o.RetryDelayMin, 200*time.Millisecond)
	duration(&o.RetryDelayMax, 2*time.Second)
	duration(&o.GiveUpAfter, 15*time.Minute)
	number(&o.BatchEvents, 500)
	number(&o.BatchBytes, 1<<20)
	number(&o.QueueEvents, 10_000)
	number(&o.QueueBytes, 16<<20)
	for _, one := range []struct {
		name        string
		value, most float64
	}{
		{"Timeout", float64(o.Timeout), float64(time.Hour)},
		{"BatchDelay", float64(o.BatchDelay), float64(time.Hour)},
		{"RetryDelayMin", float64(o.RetryDelayMin), float64(o.RetryDelayMax)},
		{"RetryDelayMax", float64(o.RetryDelayMax), float64(time.Hour)},
		{"GiveUpAfter", float64(o.GiveUpAfter), float64(giveUpMax)},
		{"BatchEvents", float64(o.BatchEvents), batchEventsMax},
		{"BatchBytes", float64(o.BatchBytes), math.MaxInt32},
		{"QueueEvents", float64(o.QueueEvents), math.MaxInt32},
		{"QueueBytes", float64(o.QueueBytes), math.MaxInt32},
	} {
		if one.value < 0 || one.value > one.most {
			return fmt.Errorf("%s: out of range", one.name)
		}
	}
	client := http.Client{}
	if o.HTTPClient != nil {
		client = *o.HTTPClient
	}
	// A redirect could carry the key to another host.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o.HTTPClient = &client
	return nil
}

// Record queues a source event, any value that JSON writes as an object, and returns at once; it never panics. False:
// the event was dropped, which is counted and told to OnError. The event is copied now.
func (c *Client) Record(event any) bool {
	text, ok := lineOf(event)
	if !ok {
		return c.drop(&Error{Code: "not_json", Message: "the event cannot be written as a JSON object"})
	}
	size := len(text) + 1
	c.lock.Lock()
	var refused *Error
	switch {
	case c.closed:
		refused = &Error{Code: "closed", Message: "the client is closed"}
	case c.held >= c.options.QueueEvents || c.heldSize+size > c.options.QueueBytes:
		refused = &Error{Code: "queue_full", Message: "the queue is full; the event was dropped"}
	default:
		c.queue = append(c.queue, line{text, time.Now()})
		c.queued += size
		c.held++
		c.heldSize += size
		c.recorded++
		// The first begins the delay, and a full batch need not wait for its end.
		if len(c.queue) == 1 || c.isFull() {
			c.wake()
		}
	}
	c.lock.Unlock()
	return refused == nil || c.drop(refused)
}

// Flush sends what is queued without delay and waits, until the context ends, for all recorded so far to be stored or
// given up.
func (c *Client) Flush(ctx context.Context) Report {
	c.untilSettled(ctx)
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.report()
}

// Close flushes until the context ends, then gives up what is left and takes nothing more.
func (c *Client) Close(ctx context.Context) Report {
	c.lock.Lock()
	c.closed = true
	c.lock.Unlock()
	c.untilSettled(ctx)
	c.end()
	select {
	case <-c.done:
	case <-time.After(settleMax):
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.report()
}

// Counts tells of all events since the client was made.
func (c *Client) Counts() Report {
	c.lock.Lock()
	defer c.lock.Unlock()
	counts := c.counts
	counts.Pending = c.held + c.cutOff
	return counts
}

func (c *Client) untilSettled(ctx context.Context) {
	c.lock.Lock()
	target := c.recorded
	if c.flushTo < target {
		c.flushTo = target
	}
	c.wake()
	for c.settled < target && ctx.Err() == nil && c.ending.Err() == nil {
		changed := c.changed
		c.lock.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		case <-c.ending.Done():
		}
		c.lock.Lock()
	}
	c.lock.Unlock()
}

func (c *Client) report() Report {
	since := Report{
		Acknowledged: c.counts.Acknowledged - c.reported.Acknowledged,
		Rejected:     c.counts.Rejected - c.reported.Rejected,
		Failed:       c.counts.Failed - c.reported.Failed,
		Dropped:      c.counts.Dropped - c.reported.Dropped,
		Pending:      c.held + c.cutOff,
	}
	c.reported = c.counts
	return since
}

func (c *Client) drop(err *Error) bool {
	c.count(func(counts *Report) { counts.Dropped++ })
	c.tellError(err, 1)
	return false
}

func (c *Client) count(change func(counts *Report)) {
	c.lock.Lock()
	change(&c.counts)
	c.lock.Unlock()
}

// wake lets all waiting goroutines look again; the lock is held.
func (c *Client) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Client) isFull() bool {
	return len(c.queue) >= c.options.BatchEvents || c.queued >= c.options.BatchBytes
}

func (c *Client) run() {
	defer close(c.done)
	defer c.options.HTTPClient.CloseIdleConnections()
	for {
		lines := c.nextBatch()
		if lines == nil {
			return
		}
		c.deliver(lines)
		c.lock.Lock()
		c.settled += len(lines)
		c.held -= len(lines)
		for _, text := range lines {
			c.heldSize -= len(text) + 1
		}
		c.wake()
		c.lock.Unlock()
	}
}

// nextBatch waits until a batch is due by count, bytes, age or a flush; nil at the end.
func (c *Client) nextBatch() [][]byte {
	c.lock.Lock()
	defer c.lock.Unlock()
	for c.ending.Err() == nil {
		wait := time.Hour
		if len(c.queue) > 0 {
			wait = c.options.BatchDelay - time.Since(c.queue[0].at)
			if wait <= 0 || c.settled < c.flushTo || c.isFull() {
				return c.take()
			}
		}
		changed := c.changed
		c.lock.Unlock()
		timer := time.NewTimer(wait)
		select {
		case <-changed:
		case <-timer.C:
		case <-c.ending.Done():
		}
		timer.Stop()
		c.lock.Lock()
	}
	return nil
}

func (c *Client) take() [][]byte {
	size, count := 0, 0
	for count < len(c.queue) && count < c.options.BatchEvents {
		next := len(c.queue[count].text) + 1
		if count > 0 && size+next > c.options.BatchBytes {
			break
		}
		size += next
		count++
	}
	lines := make([][]byte, count)
	for i := range lines {
		lines[i] = c.queue[i].text
	}
	// A copy: what has been sent must not stay in memory behind the slice.
	c.queue = append([]line(nil), c.queue[count:]...)
	c.queued -= size
	return lines
}

func lineOf(event any) (text []byte, ok bool) {
	// A MarshalJSON of the application's may panic.
	defer func() {
		if recover() != nil {
			text, ok = nil, false
		}
	}()
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(event); err != nil {
		return nil, false
	}
	text = bytes.TrimRight(buffer.Bytes(), "\n")
	return text, len(text) > 0 && text[0] == '{'
}
