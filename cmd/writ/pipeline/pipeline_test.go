package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// echo answers a line with its text and length.
func echo(into *bytes.Buffer, line []byte, tooLong bool) {
	fmt.Fprintf(into, "%d %v %s\n", len(line), tooLong, line)
}

func newPipeline(workers, maxLine int, answer func(*bytes.Buffer, []byte, bool)) *Pipeline {
	return &Pipeline{Workers: workers, MaxLine: maxLine, Answer: answer, Answered: func(int) {}}
}

func TestPipelineAnswersEveryLine(t *testing.T) {
	for _, row := range []struct{ note, in, want string }{
		{"nothing", "", ""},
		{"one line", "a\n", "1 false a\n"},
		{"no newline at the end", "a\nbc", "1 false a\n2 false bc\n"},
		{"blank lines have no answer", "\na\n \t\n\r\n\nb\n\n", "1 false a\n1 false b\n"},
		{"a line as long as may be", "abcdefgh\n", "8 false abcdefgh\n"},
		{"a line one too long is cut", "abcdefghi\nx\n", "8 true abcdefgh\n1 false x\n"},
		{"blanks that go on too long", strings.Repeat(" ", 9) + "\nx\n", "1 false x\n"},
		{"a long line without end", strings.Repeat("z", 1<<20), "8 true zzzzzzzz\n"},
	} {
		t.Run(row.note, func(t *testing.T) {
			var out bytes.Buffer
			if err := newPipeline(2, 8, echo).Run(t.Context(), strings.NewReader(row.in), &out); err != nil {
				t.Fatal(err)
			}
			if out.String() != row.want {
				t.Errorf("got %q, want %q", out.String(), row.want)
			}
		})
	}
}

// numbers is a stream of n lines that never is in memory as a whole.
type numbers struct {
	next, n int
	rest    []byte
}

func (r *numbers) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.next == r.n {
			return 0, io.EOF
		}
		r.rest = fmt.Appendf(nil, "%d\n", r.next)
		r.next++
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func TestPipelineKeepsTheOrder(t *testing.T) {
	const lines = 5_000
	var out bytes.Buffer
	var calls atomic.Int64
	p := newPipeline(7, 100, func(into *bytes.Buffer, line []byte, _ bool) {
		for range calls.Add(1) % 5 {
			runtime.Gosched() // workers overtake each other
		}
		into.Write(line)
		into.WriteByte('\n')
	})
	counted := 0
	p.Answered = func(n int) { counted += n }
	if err := p.Run(t.Context(), &numbers{n: lines}, &out); err != nil {
		t.Fatal(err)
	}
	want, err := io.ReadAll(&numbers{n: lines})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Error("the answers are not in the order of the lines")
	}
	if counted != lines {
		t.Errorf("got %d lines counted, want %d", counted, lines)
	}
}

// A user types a request and waits for the answer before the next one.
func TestPipelineFlushesWhenTheInputIsIdle(t *testing.T) {
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- newPipeline(2, 100, echo).Run(t.Context(), inReader, outWriter)
		outWriter.Close()
	}()
	buffer := make([]byte, 100)
	for _, text := range []string{"one", "two", "three"} {
		if _, err := io.WriteString(inWriter, text+"\n"); err != nil {
			t.Fatal(err)
		}
		n, err := outReader.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(buffer[:n]), fmt.Sprintf("%d false %s\n", len(text), text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	inWriter.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestPipelineEndsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, _ := io.Pipe() // never written, never closed
	done := make(chan error, 1)
	go func() { done <- newPipeline(2, 100, echo).Run(ctx, in, io.Discard) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
func (brokenPipe) Read([]byte) (int, error)  { return 0, io.ErrUnexpectedEOF }

func TestPipelineEndsWhenItCannotGoOn(t *testing.T) {
	err := newPipeline(2, 100, echo).Run(t.Context(), &numbers{n: 1 << 40}, brokenPipe{})
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("without a reader: got %v, want %v", err, io.ErrClosedPipe)
	}
	err = newPipeline(2, 100, echo).Run(t.Context(), brokenPipe{}, io.Discard)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the input breaks: got %v, want %v", err, io.ErrUnexpectedEOF)
	}
}

// What is under way is bounded: slow workers hold the reader back.
func TestPipelineIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := &counted{numbers: numbers{n: 1 << 40}}
		ctx, cancel := context.WithCancel(t.Context())
		never := make(chan struct{})
		p := newPipeline(2, 100, func(*bytes.Buffer, []byte, bool) { <-never })
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx, in, io.Discard) }()
		synctest.Wait() // until nothing can move
		if got, most := in.read.Load(), int64(1<<20); got == 0 || got > most {
			t.Errorf("got %d bytes read ahead, want some and at most %d", got, most)
		}
		cancel()
		close(never)
		<-done
	})
}

type counted struct {
	numbers
	read atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.numbers.Read(p)
	c.read.Add(int64(n))
	return n, err
}
