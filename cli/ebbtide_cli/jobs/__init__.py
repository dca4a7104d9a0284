"""`ebbtide jobs`: looks at jobs that wait, run or were given up; gives one another try, or takes it out."""
