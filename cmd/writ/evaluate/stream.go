package evaluate

import (
	"bufio"
	"context"
	"errors"
	"iter"

	"github.com/writ-policy/writ/cmd/writ/cli"
	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/server/decision"
)

// streamChunk is how many indexes a line of visible items holds at most.
const streamChunk = 1000

// answerStream answers the one request on standard input, whose items follow one per
// line. Output is flushed whenever the input is not ready.
func answerStream(ctx context.Context, s cli.Streams, p decision.Policies, maxLine int) error {
	out := bufio.NewWriterSize(s.Out, 64<<10)
	stream := decision.Stream{Chunk: streamChunk, Write: func(line []byte) error {
		_, err := out.Write(line)
		return err
	}}
	in := decision.NewLines(s.In, maxLine)
	in.Wait = func() error { return errors.Join(ctx.Err(), stream.Flush(), out.Flush()) }
	err := runStream(ctx, s, p, in, &stream)
	if invalid := (*decision.InvalidRequest)(nil); errors.As(err, &invalid) {
		if failed := stream.Refuse(invalid); failed != nil {
			return failed
		}
	}
	if failed := out.Flush(); failed != nil {
		return failed
	}
	return err
}

func runStream(ctx context.Context, s cli.Streams, p decision.Policies, in *decision.Lines, stream *decision.Stream) error {
	request, err := in.Request(nil)
	if err != nil {
		return err
	}
	span := answering(ctx, s)
	d, err := stream.Run(ctx, p, request, p.Visibility(ctx, request), counting(in.Items(), span))
	span.End(err)
	if err == nil && d.EvaluationError != "" {
		return errors.New(d.EvaluationError)
	}
	return err
}

func counting(items iter.Seq2[decision.Item, error], p *progress.Span) iter.Seq2[decision.Item, error] {
	return func(yield func(decision.Item, error) bool) {
		for item, err := range items {
			if !yield(item, err) {
				return
			}
			p.Count(1, "items read")
		}
	}
}
