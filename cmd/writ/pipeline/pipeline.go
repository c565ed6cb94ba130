// Package pipeline answers lines of text in parallel, in the order of the lines and in
// bounded memory. It does not know what the lines mean.
package pipeline

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Pipeline answers lines: a reader splits the input into batches, workers answer
// batches in parallel, and a writer writes the answers in the order of the lines. The
// number of batches in progress is bounded, so memory does not depend on the number
// of lines. All fields are required.
type Pipeline struct {
	// Workers is the number of batches that are answered in parallel.
	Workers int
	// MaxLine bounds a line in bytes, without its newline.
	MaxLine int
	// Answer appends the answer to one line, with a newline. Several workers call it
	// concurrently. A line over MaxLine is truncated, and tooLong is true.
	Answer func(into *bytes.Buffer, line []byte, tooLong bool)
	// Answered is called by the writer with the number of lines just written.
	Answered func(lines int)
}

// A batch ends when it has this many lines or bytes, or when reading more input would
// block: a user may be typing.
const (
	batchLines = 64
	batchBytes = 256 << 10
	windowFor  = 4 // batches in progress per worker
)

type line struct {
	text    []byte
	tooLong bool
}

type batch struct {
	lines []line
	out   bytes.Buffer
	done  chan struct{}
}

// Run answers every line of in. It returns an error if reading or writing fails, or
// if ctx is cancelled, even while it waits for input; answers so far are written.
func (p *Pipeline) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	work := make(chan *batch)
	ordered := make(chan *batch, p.Workers*windowFor)
	failed := make(chan error, 1)
	go func() {
		defer close(ordered)
		defer close(work)
		failed <- p.read(ctx, in, func(b *batch) bool {
			select {
			case ordered <- b:
			case <-ctx.Done():
				return false
			}
			select {
			case work <- b:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	var group sync.WaitGroup
	for range p.Workers {
		group.Go(func() { p.work(work) })
	}
	if err := p.write(ctx, ordered, out); err != nil {
		return err
	}
	group.Wait()
	return <-failed
}

// read splits the input into batches and passes them to put until it returns false.
func (p *Pipeline) read(ctx context.Context, in io.Reader, put func(*batch) bool) error {
	reader := bufio.NewReaderSize(in, 64<<10)
	b, size := newBatch(), 0
	for {
		text, tooLong, err := readLine(reader, p.MaxLine)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read requests: %w", err)
		}
		if len(bytes.TrimSpace(text)) > 0 {
			b.lines = append(b.lines, line{text, tooLong})
			size += len(text)
		}
		ended := err != nil
		full := len(b.lines) >= batchLines || size >= batchBytes || reader.Buffered() == 0
		if len(b.lines) > 0 && (ended || full) {
			if !put(b) {
				return ctx.Err()
			}
			b, size = newBatch(), 0
		}
		if ended {
			return nil
		}
	}
}

func newBatch() *batch { return &batch{done: make(chan struct{})} }

// readLine reads up to a newline and drops bytes beyond limit, so that a line without
// end uses no memory. At the end of the input it returns the last line and io.EOF.
func readLine(r *bufio.Reader, limit int) (text []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		part = bytes.TrimSuffix(part, []byte("\n"))
		if room := limit - len(text); len(part) > room {
			part, tooLong = part[:room], true
		}
		text = append(text, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, tooLong, err
		}
	}
}

func (p *Pipeline) work(batches <-chan *batch) {
	for b := range batches {
		for _, l := range b.lines {
			p.Answer(&b.out, l.text, l.tooLong)
		}
		close(b.done)
	}
}

// write writes answers in order, and flushes whenever it would block.
func (p *Pipeline) write(ctx context.Context, ordered <-chan *batch, out io.Writer) error {
	writer := bufio.NewWriterSize(out, 64<<10)
	for {
		b, err := next(ctx, ordered, writer)
		if b == nil || err != nil {
			return errors.Join(err, writer.Flush())
		}
		if _, err := writer.Write(b.out.Bytes()); err != nil {
			return err
		}
		p.Answered(len(b.lines))
	}
}

// next waits for the next answered batch. It returns nil after the last one.
func next(ctx context.Context, ordered <-chan *batch, writer *bufio.Writer) (*batch, error) {
	var b *batch
	open := true
	select {
	case b, open = <-ordered:
	default:
		if err := writer.Flush(); err != nil {
			return nil, err
		}
		select {
		case b, open = <-ordered:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if !open {
		return nil, nil
	}
	select {
	case <-b.done:
	default:
		if err := writer.Flush(); err != nil {
			return nil, err
		}
		select {
		case <-b.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return b, nil
}
