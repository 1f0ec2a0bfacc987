from m4lib.cli import main

raise SystemExit(main())
