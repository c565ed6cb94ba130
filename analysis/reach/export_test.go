package reach

import "context"

// FindAsking is Find. It returns how many questions it asked.
func FindAsking(ctx context.Context, o Options) (*Report, int, error) {
	s, err := begin(&o)
	if err != nil {
		return nil, 0, err
	}
	if err := s.explore(ctx); err != nil {
		return nil, 0, err
	}
	out, err := s.report(ctx)
	return out, s.worlds[""].asks, err
}

// FindThrough is Find. It leaves subjects out as soon as their paths are known, or never.
func FindThrough(ctx context.Context, o Options, isWhole bool) (*Report, error) {
	s, err := begin(&o)
	if err != nil {
		return nil, err
	}
	if s.few = 0; isWhole {
		err = s.exploreAll(ctx)
		s.connect()
	} else {
		err = s.explore(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s.report(ctx)
}

// FindAmong is Find, which looks at so many walks.
func FindAmong(ctx context.Context, o Options, walks int) (*Report, error) {
	s, err := begin(&o)
	if err != nil {
		return nil, err
	}
	s.walks = walks
	if err := s.explore(ctx); err != nil {
		return nil, err
	}
	return s.report(ctx)
}
