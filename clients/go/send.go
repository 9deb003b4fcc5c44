package auditlog

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strconv"
	"time"
)

const (
	answerBytesMax = 16 << 20
	gzipBytesMin   = 1024
	retryAfterMax  = 10 * time.Minute
)

// Error is what every failure of the client is. Its text never has a key or an event in it.
type Error struct {
	// Code is http (the service answered with an error: Status), network, timeout, protocol (an answer that the service
	// does not give) or aborted; queue_full, closed or not_json of an event that was not queued.
	Code    string
	Message string
	Status  int

	retryAfter time.Duration
	refusals   []refusal
	isRefusal  bool
}

func (e *Error) Error() string {
	return e.Message
}

// Transient tells whether the same request may succeed later.
func (e *Error) Transient() bool {
	switch e.Status {
	case 0:
		return e.Code == "network" || e.Code == "timeout" || e.Code == "protocol"
	case 408, 425, 429:
		return true
	default:
		return e.Status >= 500 && e.Status != 501
	}
}

type refusal struct {
	Index int    `json:"index"`
	Error string `json:"error"`
}

type answer struct {
	Accepted *int      `json:"accepted"`
	Rejected *int      `json:"rejected"`
	Errors   []refusal `json:"errors"`
}

// deliver sends a batch; the counts and the callbacks have the outcome.
func (c *Client) deliver(lines [][]byte) {
	got, err := c.post(lines)
	switch {
	case err == nil:
		c.count(func(counts *Report) { counts.Acknowledged += *got.Accepted })
		if *got.Rejected > 0 {
			c.reject(lines, *got.Rejected, got.Errors)
		}
	case err.Status == http.StatusRequestEntityTooLarge && len(lines) > 1:
		middle := len(lines) / 2
		c.deliver(lines[:middle])
		c.deliver(lines[middle:])
	case err.Status == http.StatusBadRequest && err.isRefusal:
		c.reject(lines, len(lines), err.refusals)
	case err.Code == "aborted":
		c.lock.Lock()
		c.cutOff += len(lines)
		c.lock.Unlock()
	default:
		c.count(func(counts *Report) { counts.Failed += len(lines) })
		c.tellError(err, len(lines))
	}
}

// post repeats a batch, with the same bytes and the same key, until it is answered or its time is over.
func (c *Client) post(lines [][]byte) (*answer, *Error) {
	body := bytes.Join(lines, []byte("\n"))
	isGzip := len(body) >= gzipBytesMin
	if isGzip {
		body = compressed(body)
	}
	key, err := newKey()
	if err != nil {
		return nil, &Error{Code: "network", Message: "no random numbers for an idempotency key"}
	}
	begun := time.Now()
	step := c.options.RetryDelayMin
	for attempt := 1; ; attempt++ {
		got, err := c.attempt(body, key, isGzip, len(lines))
		if err == nil || !err.Transient() {
			return got, err
		}
		delay := err.retryAfter + upTo(step)
		if time.Since(begun)+delay > c.options.GiveUpAfter {
			return nil, err
		}
		if step *= 2; step > c.options.RetryDelayMax {
			step = c.options.RetryDelayMax
		}
		c.guarded(func() {
			if c.options.OnRetry != nil {
				c.options.OnRetry(err, attempt, delay)
			}
		})
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-c.ending.Done():
			timer.Stop()
			return nil, &Error{Code: "aborted", Message: "aborted by Close"}
		}
	}
}

func (c *Client) attempt(body []byte, key string, isGzip bool, events int) (*answer, *Error) {
	ctx, cancel := context.WithTimeout(c.ending, c.options.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Code: "network", Message: "the request cannot be made"}
	}
	request.Header.Set("X-API-Key", c.options.APIKey)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/x-ndjson")
	request.Header.Set("Idempotency-Key", key)
	if isGzip {
		request.Header.Set("Content-Encoding", "gzip")
	}
	response, err := c.options.HTTPClient.Do(request)
	if err != nil {
		return nil, c.noAnswer(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax))
	if err != nil {
		return nil, c.noAnswer(err)
	}
	var got answer
	isAnswer := json.Unmarshal(text, &got) == nil
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, &Error{
			Code:       "http",
			Message:    fmt.Sprintf("the service answered %d", response.StatusCode),
			Status:     response.StatusCode,
			retryAfter: retryAfterOf(response.Header.Get("Retry-After")),
			refusals:   got.Errors,
			isRefusal:  isAnswer && got.Errors != nil,
		}
	}
	if !isAnswer || got.Accepted == nil || got.Rejected == nil || *got.Accepted+*got.Rejected != events {
		return nil, &Error{Code: "protocol", Message: "the answer is not what the service sends"}
	}
	return &got, nil
}

// noAnswer leaves out what the library says: it has the address in it.
func (c *Client) noAnswer(err error) *Error {
	switch {
	case c.ending.Err() != nil:
		return &Error{Code: "aborted", Message: "aborted by Close"}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: "timeout", Message: "no answer in time"}
	default:
		return &Error{Code: "network", Message: "no answer: the connection failed"}
	}
}

func (c *Client) reject(lines [][]byte, rejected int, refusals []refusal) {
	c.count(func(counts *Report) { counts.Rejected += rejected })
	named := map[int]string{}
	for _, one := range refusals {
		named[one.Index] = one.Error
	}
	// When all were refused, those that are not named are known as well.
	var rejections []Rejection
	for index, text := range lines {
		if reason, isNamed := named[index]; isNamed || rejected == len(lines) {
			rejections = append(rejections, Rejection{Event: text, Error: reason})
		}
	}
	c.guarded(func() {
		if c.options.OnRejected != nil {
			c.options.OnRejected(rejections)
		}
	})
}

func (c *Client) tellError(err *Error, events int) {
	c.guarded(func() {
		if c.options.OnError != nil {
			c.options.OnError(err, events)
		}
	})
}

// guarded runs a function of the caller's, whose panic must end neither a batch nor the process.
func (c *Client) guarded(call func()) {
	defer func() {
		value := recover()
		if value == nil || c.options.OnPanic == nil {
			return
		}
		defer func() { _ = recover() }() // there is nobody left to tell
		c.options.OnPanic(value)
	}()
	call()
}

func compressed(plain []byte) []byte {
	var buffer bytes.Buffer
	// Neither a level that is known nor a buffer in memory can fail.
	writer, _ := gzip.NewWriterLevel(&buffer, gzip.BestSpeed)
	_, _ = writer.Write(plain)
	_ = writer.Close()
	return buffer.Bytes()
}

func newKey() (string, error) {
	random := make([]byte, 16)
	_, err := rand.Read(random)
	return hex.EncodeToString(random), err
}

// upTo is a pause between nothing and the step: clients that failed together do not come back together.
func upTo(step time.Duration) time.Duration {
	drawn, err := rand.Int(rand.Reader, big.NewInt(int64(step)+1))
	if err != nil {
		return step
	}
	return time.Duration(drawn.Int64())
}

// retryAfterOf reads seconds, or a date of HTTP.
func retryAfterOf(header string) time.Duration {
	wait := time.Duration(0)
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if date, err := http.ParseTime(header); err == nil {
		wait = time.Until(date)
	}
	if wait < 0 {
		return 0
	}
	if wait > retryAfterMax {
		return retryAfterMax
	}
	return wait
}
